"""Settings of topics, groups and client metrics, and the settings of brokers that may change at run time."""
