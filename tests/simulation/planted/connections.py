"""Bugs of requests that wait and of connections that end: what is answered late, what is never forgotten."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("a long poll without an end", "A Fetch for which nothing comes is answered a minute late.").at(
        "Purgatory.park", "self._clock.until_next(timeout_ms)", "self._clock.until_next(timeout_ms + 60_000)"
    ),
    Bug("an answer that never comes", "Whoever has to wait for the disk waits for ever.").at(
        "GroupFlush.synced", "(offset, future)", "(offset + 1_000_000, future)"
    ),
    Bug("a request of nobody", "What a client waited for that is gone goes on waiting.").at(
        "DeferredResponse.abandon", "self._may_be_given_up", "self._may_be_given_up and not self._is_abandoned"
    ),
    Bug("a connection that is not forgotten", "The listener keeps connections that are closed.").at(
        "SocketServer.connection_closed", "self._connections.pop(connection, None)", "self._connections.get(connection)"
    ),
    Bug("the memory of half a frame", "A connection that ends in the middle of a frame keeps its memory.").at(
        "Connection.connection_lost", "self._receiver.close()"
    ),
    Bug(
        "the rest of a partial write", "Of an answer that the socket takes only in part the rest is not sent.", seeds=60
    ).at("Sender.write", "sent == len(data)", "sent"),
    Bug(
        "the beginning sent twice",
        "Of an answer that the socket takes only in part all is given to the transport.",
        seeds=60,
    ).at("Sender.write", "memoryview(data)[sent:]", "memoryview(data)"),
    Bug("a peer that reads again", "What came while the peer did not read is never served.", seeds=60).at(
        "Connection.resume_writing", "self._go_on()"
    ),
    Bug("the idle sweep forgotten", "Connections that nobody uses are looked for once, and never again.", seeds=60).at(
        "SocketServer._sweep_idle", "self.watch_idle()"
    ),
    Bug("the beginning of a size", "Of a frame of which less than its size has come nothing is kept.", seeds=60).at(
        "Receiver.settle", "if left: ...", "if left >= 4: ..."
    ),
)
