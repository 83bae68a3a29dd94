"""Settings of SASL, by listener and mechanism."""
