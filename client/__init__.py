"""A small blocking Kafka client based on protocol's sans-IO connection.

One request is in flight per connection, without threads and fetch sessions: a response can only belong to the last
request, and a request that times out closes its connection. Topics are addressed by name, in the last versions of each
API that allow it; so a topic that is deleted and created again between two requests is not noticed.
"""

if __name__ != "barnabas.client":
    raise ImportError("import it as barnabas.client: under two names every class would exist twice")
