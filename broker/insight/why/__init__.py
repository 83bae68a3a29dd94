"""Diagnosis of waits: queries about consumers, producers, records and groups, answered in sentences with evidence.

Collectors read facts when they are queried: nothing is stored in order to answer, but for the last refusals of clients,
which leave no state. Rules make sentences of facts, and are tested without a broker. An answer is not of one instant.
"""
