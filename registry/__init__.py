"""A schema registry with Confluent's REST API: its subjects, schemas and compatibility. No sockets, no event loop.

The broker serves it and keeps its state in the topic _schemas. It needs no package of its own.
"""

if __name__ != "barnabas.registry":
    raise ImportError("import it as barnabas.registry: under two names every class would exist twice")
