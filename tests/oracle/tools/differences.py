"""What Kafka's tools print otherwise for Barnabas than for Apache Kafka 4.4.0, and why: how commands begin."""

KNOWN: dict[str, str] = {
    r"MetadataQuorumCommand describe": "no listener is opened for controllers, and its log is its own",
}
