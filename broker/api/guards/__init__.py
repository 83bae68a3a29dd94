"""What an authorizer does to requests: one guard for each API, around its handler.

Only a broker that has an authorizer puts them there (`broker/api/dispatch.py`), so without one nothing is asked and no
handler knows of rights. Exceptions are those that find out themselves what they are about: Fetch, whose partitions may
be those of its session, delegation tokens, and regular expressions of consumer groups, which are resolved later.
"""
