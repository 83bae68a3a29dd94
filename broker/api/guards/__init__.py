"""The authorization of requests: one guard for each API, around its handler.

Only a broker that has an authorizer uses them (`broker/api/pipeline.py`), so without one nothing is checked and no
handler knows of rights. Exceptions check by themselves, because only they know the resources: Fetch, whose partitions
may be those of its session, delegation tokens, and regular expressions of consumer groups, which are resolved later.
"""
