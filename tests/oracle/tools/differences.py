"""What Kafka's tools print otherwise for Barnabas than for Apache Kafka 4.4.0, and why: how commands begin."""

QUOTAS = "there are no quotas, and a setting that asks for one is refused"

KNOWN: dict[str, str] = {
    r"ConfigCommand --alter --broker-logger": "the loggers of a Java program are not here to be set",
    r"ConfigCommand --describe --group": "groups have no settings",
    r"ConfigCommand --describe --(user|client|ip) ": QUOTAS,
    r"ReassignPartitionsCommand --execute .* --throttle": QUOTAS,
    r"ConfigCommand --describe --broker 1": QUOTAS,
    r"MetadataQuorumCommand describe": "no listener is opened for controllers (decision 0108), and its log is its own",
    r"ClientMetricsCommand --(alter|delete|describe --name)": "clients are not asked for metrics",
}
