"""What Kafka's tools print otherwise for Barnabas than for Apache Kafka 4.4.0, and why: how commands begin."""

QUOTAS = "there are no quotas, and a setting that asks for one is refused"

KNOWN: dict[str, str] = {
    r"ConfigCommand --describe --(user|client|ip) ": QUOTAS,
    r"MetadataQuorumCommand describe": "no listener is opened for controllers (decision 0108), and its log is its own",
}
