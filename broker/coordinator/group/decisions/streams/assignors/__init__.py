"""The task assignor `sticky` of streams groups (KIP-1071), with Apache Kafka's results."""
