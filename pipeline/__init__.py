"""The jobs that show what the sink and the sources are for: `validate`, `aggregate`, `audit`.

They read like what a user would write: options in Kafka's and Spark's words, pure DataFrame transforms, thin mains.
"""
