"""The example jobs of the sink and the sources: `validate`, `aggregate`, `audit`.

They are written as a user would write them: Kafka's and Spark's option names, pure DataFrame transforms, short mains.
"""
