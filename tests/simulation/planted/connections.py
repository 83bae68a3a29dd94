"""Bugs of requests that wait and of connections that end: what is answered late, what is never forgotten."""

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "a long poll without an end",
        "A Fetch for which nothing comes is answered a minute late.",
        "broker/partitions/waiters.py",
        "        delay_ms = self._clock.until_next(timeout_ms)\n",
        "        delay_ms = self._clock.until_next(timeout_ms + 60_000)\n",
    ),
    bug(
        "an answer that never comes",
        "Whoever has to wait for the disk waits for ever.",
        "broker/partitions/flushing.py",
        "append((offset, future))\n        self._start_soon()\n",
        "append((offset + 1_000_000, future))\n        self._start_soon()\n",
    ),
    bug(
        "a request of nobody",
        "What a client waited for that is gone goes on waiting.",
        "broker/api/answers.py",
        "        if self._may_be_given_up:\n            self._future.cancel()\n",
        "        if self._may_be_given_up and not self._is_abandoned:\n            self._future.cancel()\n",
    ),
    bug(
        "a connection that is not forgotten",
        "The listener keeps connections that are closed.",
        "broker/net/listener.py",
        "        self._connections.pop(connection, None)\n",
        "        self._connections.get(connection)\n",
    ),
    bug(
        "the memory of half a frame",
        "A connection that ends in the middle of a frame keeps its memory.",
        "broker/net/connection.py",
        "        self._sender.lost()\n        self._receiver.close()\n",
        "        self._sender.lost()\n",
    ),
    bug(
        "the rest of a partial write",
        "Of an answer that the socket takes only in part the rest is not sent.",
        "broker/net/send.py",
        "            if sent == len(data):\n",
        "            if sent:\n",
        seeds=60,
    ),
    bug(
        "the beginning sent twice",
        "Of an answer that the socket takes only in part all is given to the transport.",
        "broker/net/send.py",
        "            rest = memoryview(data)[sent:]\n",
        "            rest = memoryview(data)\n",
        seeds=60,
    ),
    bug(
        "a peer that reads again",
        "What came while the peer did not read is never served.",
        "broker/net/connection.py",
        "        self._sender.resume()\n        self._go_on()\n",
        "        self._sender.resume()\n",
        seeds=60,
    ),
    bug(
        "the idle sweep forgotten",
        "Connections that nobody uses are looked for once, and never again.",
        "broker/net/listener.py",
        "                connection.close()\n        self.watch_idle()\n",
        "                connection.close()\n",
        seeds=60,
    ),
    bug(
        "the beginning of a size",
        "Of a frame of which less than its size has come nothing is kept.",
        "broker/net/receive.py",
        "        elif left:\n            if left > _ASIDE",
        "        elif left >= 4:\n            if left > _ASIDE",
        seeds=60,
    ),
)
