"""A small blocking Kafka client based on protocol's sans-IO connection."""

if __name__ != "barnabas.client":
    raise ImportError("its name is barnabas.client: under two names every class would be there twice")
