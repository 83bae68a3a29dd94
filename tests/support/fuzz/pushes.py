"""What a client of no good will pushes as metrics (KIP-714): OpenTelemetry's MetricsData, and what only looks like it.

Each is small on the wire, or becomes so by compression; once it is read it is many series, much text or deep nesting.
"""

from collections.abc import Callable
from random import Random

from barnabas.protocol.records.compression import COMPRESSION_NAMES, compress
from tests.support.records import otlp

_BOMB_BYTES = 8 << 20
_WIRE_TYPES = (0, 1, 2, 5, 3, 7)
_NAMES = (b"org.apache.kafka.producer.record.send.total", b"", b"\xff", b"a" * 3_000, "метрика".encode(), b'"\n\\}')
_BUCKETS = (0, 1, 2, 16, 1_000)


def pushed(compression: int, rng: Random) -> bytes:
    """Metrics as a push with this compression has them, mostly."""
    data = rng.choice(_KINDS)(rng)
    if rng.random() < 0.3 and data:
        data = _damaged(data, rng)
    if rng.random() < 0.05:
        data = bytes(_BOMB_BYTES)
        compression = compression or 4
    codec = compression if compression in COMPRESSION_NAMES and rng.random() < 0.9 else rng.choice((0, 1, 2, 3, 4))
    packed = data if codec == 0 else compress(codec, data)
    return packed[: rng.randrange(len(packed) + 1)] if rng.random() < 0.1 else packed


def _ordinary(rng: Random) -> bytes:
    points = [otlp.point(rng.choice((0.0, -1.5, float("nan"), float("inf"))), topic="t") for _ in range(3)]
    return otlp.metrics_data(_metric(rng, rng.choice((5, 7, 9, 10, 11)), *points))


def _many_series(rng: Random) -> bytes:
    points = [otlp.point(1.0, number=str(number)) for number in range(rng.choice((10, 3_000)))]
    return otlp.metrics_data(_metric(rng, rng.choice((5, 7)), *points))


def _many_labels(rng: Random) -> bytes:
    """One point, of as many attributes as it may have and more, some of them twice."""
    labels = [otlp.message(7, otlp.message(1, b"k%d" % (number % 500))) for number in range(rng.choice((100, 5_000)))]
    return otlp.metrics_data(_metric(rng, 5, b"".join(labels) + otlp.double_field(4, 1.0)))


def _labels_alike(rng: Random) -> bytes:
    """Labels that are one and the same once they are fit for Prometheus, and those that only the broker may give."""
    keys = (b"a.b", b"a-b", b"a_b", b"", b"9", b"__name__", b"le", b"client_id", b"client_instance_id", b"a\n")
    value = otlp.message(2, otlp.message(1, rng.choice((b"v", b'"\\\n', b""))))
    labels = [otlp.message(7, otlp.message(1, key) + value) for key in rng.sample(keys, 5)]
    return otlp.metrics_data(_metric(rng, rng.choice((5, 9)), b"".join(labels) + otlp.double_field(4, 1.0)))


def _histogram(rng: Random) -> bytes:
    """Counts and bounds that go together, or do not."""
    bounds = sorted(rng.uniform(-10, 10) for _ in range(rng.choice(_BUCKETS)))
    if rng.random() < 0.3:
        bounds += [rng.choice((float("nan"), float("inf"), -float("inf"), 0.0))]
    counts = [rng.choice((0, 1, (1 << 64) - 1)) for _ in range(len(bounds) + rng.choice((1, 1, 1, 0, 2)))]
    point = otlp.histogram_point(bounds, counts, total=rng.choice((1.0, float("nan"))), is_packed=rng.random() < 0.5)
    name = rng.choice((*_NAMES[4:], _NAMES[0])).decode()
    return otlp.metrics_data(otlp.histogram(name, point, point, temporality=rng.choice((0, 1, 2, 99))))


def _nested(rng: Random) -> bytes:
    """Messages in messages, also where none are expected: a list of a list as an attribute, and so on."""
    inner = otlp.double_field(4, 1.0)
    for _ in range(rng.choice((3, 400))):
        inner = otlp.message(rng.choice((1, 2, 5, 6, 7)), inner)
    value = otlp.metrics_data(_metric(rng, 5, otlp.message(7, otlp.message(2, inner))))
    return rng.choice((inner, value))


def _many_of_nothing(rng: Random) -> bytes:
    """Empty messages of one level."""
    empty = otlp.message(rng.choice((1, 2)), b"") * 20_000
    return rng.choice(
        (empty, otlp.message(1, empty), otlp.metrics_data(empty), otlp.metrics_data(_metric(rng, 9, empty)))
    )


def _of_any_fields(rng: Random) -> bytes:
    fields = [
        otlp.varint(rng.choice((0, 1, 2, 15, 1 << 28, 1 << 61)) << 3 | rng.choice(_WIRE_TYPES)) + rng.randbytes(9)
        for _ in range(20)
    ]
    return b"".join(fields)


def _metric(rng: Random, kind: int, *points: bytes) -> bytes:
    body = b"".join(otlp.message(1, each) for each in points) + otlp.number_field(2, rng.choice((0, 1, 2, 1 << 60)))
    return otlp.message(1, rng.choice(_NAMES)) + otlp.message(kind, body)


def _damaged(data: bytes, rng: Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 3))):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


_KINDS: tuple[Callable[[Random], bytes], ...] = (
    _ordinary,
    _many_series,
    _many_labels,
    _labels_alike,
    _histogram,
    _nested,
    _many_of_nothing,
    _of_any_fields,
)
