"""Bugs of waiting requests and closed connections: late answers, and state that is not removed."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("Fetch answered a minute late", "A Fetch without new records is answered a minute after its wait time.").at(
        "Purgatory.park", "self._clock.until_next(timeout_ms)", "self._clock.until_next(timeout_ms + 60_000)"
    ),
    Bug("sync never reported", "A request that waits for a sync to disk is never answered.").at(
        "GroupFlush.synced", "(offset, future)", "(offset + 1_000_000, future)"
    ),
    Bug("request not removed on disconnect", "A waiting request is not removed when its client disconnects.").at(
        "DeferredResponse.abandon", "self._may_be_given_up", "self._may_be_given_up and not self._is_abandoned"
    ),
    Bug("closed connection not removed", "The listener does not remove closed connections.").at(
        "SocketServer.connection_closed", "self._connections.pop(connection, None)", "self._connections.get(connection)"
    ),
    Bug(
        "memory of a partial frame not released",
        "A connection that ends in the middle of a frame does not release its memory.",
    ).at("Connection.connection_lost", "self._receiver.close()"),
    Bug(
        "rest of a partial write not sent", "If the socket accepts a part of an answer, the rest is not sent.", seeds=60
    ).at("Sender.write", "sent == len(data)", "sent"),
    Bug(
        "beginning of a partial write sent twice",
        "If the socket accepts a part of an answer, the whole answer is sent again.",
        seeds=60,
    ).at("Sender.write", "memoryview(data)[sent:]", "memoryview(data)"),
    Bug(
        "connection not resumed after a pause",
        "Requests that arrive while the client does not read are never handled.",
        seeds=60,
    ).at("Connection.resume_writing", "self._go_on()"),
    Bug("idle connections checked once", "Idle connections are closed by the first check only.", seeds=60).at(
        "SocketServer._sweep_idle", "self.watch_idle()"
    ),
    Bug("partial size field lost", "If fewer than four bytes of a frame have arrived, they are lost.", seeds=60).at(
        "Receiver.settle", "if left: ...", "if left >= 4: ..."
    ),
    Bug(
        "partial frame left in the shared buffer",
        "If no bytes come after a connection has asked for a buffer, the next connection overwrites its partial frame.",
        seeds=60,
    ).at(
        "Receiver.buffer",
        "return self._shared[len(aside) :]",
        "self._load()\nreturn self._view[self._end :]",
    ),
)
