"""As many as may follow the trace do: whoever comes then is told, and everything else is answered as before."""

import http.client
from contextlib import ExitStack, closing

from barnabas.broker.insight.history.history import FOLLOWERS_MAX
from tests.support.processes.served import TIMEOUT_S, Running, ask


def test_followers_leave_room_for_everybody_else(running: Running) -> None:
    with ExitStack() as connections:
        for number in range(FOLLOWERS_MAX + 1):
            connection = http.client.HTTPConnection(running.http, timeout=TIMEOUT_S)
            connections.enter_context(closing(connection))
            connection.request("GET", "/control/trace", headers={"Accept": "text/event-stream"})
            answer = connections.enter_context(connection.getresponse())
            if number < FOLLOWERS_MAX:
                assert answer.status == 200
            else:
                assert (answer.status, b"16 clients follow the trace already" in answer.read()) == (503, True)
        assert ask(running.http, "GET")[0] == 200
