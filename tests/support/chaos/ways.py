"""How a stream under test comes to its broker: openly, or by SASL_SSL as a user with the least rights.

What the test does itself, to prepare and to audit, it does by PLAINTEXT, as a super user where there is an authorizer.
"""

from collections.abc import Iterator

from tests.support.chaos.driver import Stream
from tests.support.processes.server import Server
from tests.support.security.grants import Grant, Grants, sink_rights
from tests.support.security.secured import SASL_SSL, SecuredBroker, SecuredKafka

USER, MECHANISM = "pipeline", "SCRAM-SHA-512"
SHORT_SESSIONS = {"listener.name.sasl_ssl.scram-sha-512.connections.max.reauth.ms": 4000}
"""Settings of a secured server: connections log in again while they are used, as on clusters that limit sessions."""


def way_in(server: Server, stream: Stream) -> dict[str, str]:
    """Spark's options for this server. A secured one gives the user the rights that the stream needs, and no others."""
    if not isinstance(server, SecuredBroker | SecuredKafka):
        return {"kafka.bootstrap.servers": server.address}
    Grants(server.port, USER).give(tuple(_rights(stream)))
    properties = server.security.client_properties(USER, MECHANISM)
    properties["bootstrap.servers"] = f"127.0.0.1:{server.ports[SASL_SSL]}"
    return {f"kafka.{name}": value for name, value in properties.items()}


def _rights(stream: Stream) -> Iterator[Grant]:
    yield Grant("READ", "TOPIC", stream.topic_in)
    if stream.sink == "kafka":
        yield Grant("WRITE", "TOPIC", stream.topic_out)
    else:
        yield from sink_rights(stream.prefix, stream.topic_out)
