"""The unkind clients: the effect of 1,000 that never read and 1,000 that send a byte at a time on the others.

The first thousand each request 50 MB by Fetch and never read the response; the second thousand each announce a
frame of 100 MB and send one byte of it now and then. Meanwhile one kind client measures its round trips. Bounded:
it ends after `seconds`, on loopback only.
"""

import resource
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.peers.measure import blast, rdkafka
from bench.peers.peer import Peer
from bench.peers.topics import fresh_topic


def fetch_frame(topic: str, max_bytes: int) -> bytes:
    """Return a Fetch v4 request for partition 0 from offset 0."""
    name = topic.encode()
    body = struct.pack(">iiiibi", -1, 1000, 1, max_bytes, 0, 1) + struct.pack(">h", len(name)) + name
    body += struct.pack(">iiqi", 1, 0, 0, max_bytes)
    header = struct.pack(">hhih", 1, 4, 1, 7) + b"hostile"
    return struct.pack(">i", len(header) + len(body)) + header + body


def connect(port: int, count: int) -> list[socket.socket]:
    sockets = []
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", port))
        sockets.append(s)
    return sockets


def run(peer: Peer, clients: int = 1000, seconds: float = 10.0) -> dict[str, Any]:
    """Measure the broker's peak RSS under both thousands, and the kind client's p99 without and with them."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    backlog = fresh_topic(peer)
    rdkafka("produce", peer.port, backlog, size=1000, batch_size=1_000_000, seconds=2)
    quiet = blast("produce", peer.port, fresh_topic(peer), seconds=seconds / 2)
    deaf = connect(peer.port, clients)
    slow = connect(peer.port, clients)
    frame = fetch_frame(backlog, 50_000_000)
    peak = peer.rss_mb()
    try:
        for s in deaf:
            s.sendall(frame)
        for s in slow:
            s.sendall(struct.pack(">i", 100_000_000))
        with ThreadPoolExecutor(1) as pool:
            kind = pool.submit(blast, "produce", peer.port, fresh_topic(peer), seconds=seconds)
            stop = time.monotonic() + seconds
            while time.monotonic() < stop:
                for s in slow:
                    try:
                        s.send(b"\0")
                    except OSError:
                        continue  # the broker closed it, as it may
                peak = max(peak, peer.rss_mb())
                time.sleep(0.1)  # noqa: TID251  # ten bytes a second each
            loud = kind.result()
    finally:
        for s in (*deaf, *slow):
            s.close()
    return {"peak_rss_mb": peak, "p99_quiet_us": quiet["p99_us"], "p99_hostile_us": loud["p99_us"]}
