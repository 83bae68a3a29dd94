"""The pages of docs/ that are made from data of the tree: `python -m docs.generate` writes all of them.

The data lie where they are used: the tables of APIs, settings, metrics and events in the broker, the planted bugs and
the recorded answers of Apache Kafka in the tests. Here is only how a page shows them. No part of the product imports
this, and no wheel has it.
"""
