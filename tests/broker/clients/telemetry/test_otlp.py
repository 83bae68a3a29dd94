"""OpenTelemetry's metrics: gauges and sums are read as they were written, anything else is passed over or refused."""

import random
from collections.abc import Iterator

import pytest

from barnabas.broker.clients.telemetry import otlp as otlp_reader
from barnabas.broker.clients.telemetry import points as point_reader
from barnabas.broker.clients.telemetry.otlp import (
    BYTES_A_STEP,
    METRIC_FIELDS_MAX,
    POINT_BYTES_MAX,
    Pushed,
    read_metrics,
)
from barnabas.broker.clients.telemetry.points import BUCKETS_MAX, Histogram, Point
from barnabas.broker.clients.telemetry.protobuf import Field, fields
from barnabas.protocol.errors import DecodeError
from barnabas.storage.steps import Steps, finish
from tests.support.records import otlp


def read(data: bytes, points_max: int = 100) -> Pushed:
    return finish(read_metrics(data, points_max))


def test_gauges_and_sums_are_read_with_their_attributes() -> None:
    data = otlp.metrics_data(
        otlp.gauge("g", otlp.point(1.5, topic="t", partition="0"), otlp.whole_point(-7)),
        otlp.sum_of("d", otlp.point(2.0), is_delta=True),
        otlp.sum_of("c", otlp.point(3.0), is_delta=False),
    )
    assert read(data) == Pushed(
        [
            Point("g", (("partition", "0"), ("topic", "t")), 1.5),
            Point("g", (), -7.0),
            Point("d", (), 2.0, is_delta=True),
            Point("c", (), 3.0),
        ],
        0,
    )


def test_attributes_that_are_no_text_are_reported_as_text() -> None:
    values = {
        "flag": otlp.number_field(2, 1),
        "count": otlp.number_field(3, (1 << 64) - 5),
        "ratio": otlp.double_field(4, 0.5),
        "list": otlp.message(5, b""),
    }
    attributes = b"".join(
        otlp.message(7, otlp.message(1, key.encode()) + otlp.message(2, value)) for key, value in values.items()
    )
    (point,) = read(otlp.metrics_data(otlp.gauge("g", attributes + otlp.double_field(4, 1.0)))).points
    assert dict(point.attributes) == {"flag": "true", "count": "-5", "ratio": "0.5", "list": ""}


def test_summaries_exponential_histograms_and_points_beyond_the_most_are_counted() -> None:
    points = [otlp.point(float(number)) for number in range(5)]
    others = [otlp.message(1, b"m") + otlp.message(kind, otlp.message(1, b"")) for kind in (10, 11)]
    pushed = read(otlp.metrics_data(otlp.gauge("g", *points), *others), points_max=3)
    assert ([point.value for point in pushed.points], pushed.left_out) == ([0.0, 1.0, 2.0], 4)


@pytest.mark.parametrize("is_packed", [True, False])
def test_histograms_are_read_with_their_buckets(is_packed: bool) -> None:
    point = otlp.histogram_point([0.5, 10.0], [1, 0, 4], total=99.5, is_packed=is_packed, topic="t")
    data = otlp.metrics_data(
        otlp.histogram("d", point, temporality=1), otlp.histogram("c", point), otlp.histogram("e", b"")
    )
    value = Histogram((0.5, 10.0), (1, 0, 4), 99.5)
    labels = (("topic", "t"),)
    assert read(data) == Pushed(
        [
            Point("d", labels, value, is_delta=True),
            Point("c", labels, value),
            Point("e", (), Histogram((), (0,), None)),
        ],
        0,
    )


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [
        ([1.0, 2.0], [1, 2]),
        ([1.0], [1, 2, 3]),
        ([2.0, 1.0], [1, 1, 1]),
        ([1.0, 1.0], [1, 1, 1]),
        ([float("nan")], [1, 1]),
        ([1.0, float("inf")], [1, 1, 1]),
        ([float("-inf")], [1, 1]),
        ([float(each) for each in range(BUCKETS_MAX)], [1] * (BUCKETS_MAX + 1)),
        ([1.0], [1 << 63, 1 << 63]),  # more than the count, which is a number of 64 bits
    ],
)
def test_histograms_that_are_none_are_counted(bounds: list[float], counts: list[int]) -> None:
    data = otlp.metrics_data(otlp.histogram("h", otlp.histogram_point(bounds, counts, total=1.0)))
    assert read(data) == Pushed([], 1)


def test_fields_that_nobody_knows_are_passed_over() -> None:
    unknown = otlp.number_field(99, 5) + otlp.message(98, b"x") + otlp.double_field(97, 1.0) + b"\xb5\x06abcd"
    data = otlp.metrics_data(unknown + otlp.gauge("g", unknown + otlp.point(1.0)) + unknown) + unknown
    assert read(data).points == [Point("g", (), 1.0)]
    assert read(b"") == Pushed([], 0)


_HALF_A_MEGABYTE = 500_000


@pytest.mark.parametrize(
    ("data", "points"),
    [
        (otlp.number_field(99, 1) * (_HALF_A_MEGABYTE // 3), 0),
        (otlp.message(1, b"") * (_HALF_A_MEGABYTE // 2), 0),
        (otlp.message(1, otlp.message(2, b"")) * (_HALF_A_MEGABYTE // 4), 0),
        (otlp.message(1, otlp.message(2, b"") * (_HALF_A_MEGABYTE // 2)), 0),
        (otlp.metrics_data(b"") + otlp.metrics_data(*[b""] * (_HALF_A_MEGABYTE // 2)), 0),
        (otlp.metrics_data(otlp.histogram("h", *[b""] * (_HALF_A_MEGABYTE // 2))), 100),
        (otlp.metrics_data(otlp.gauge("g", *[otlp.point(1.0)] * (_HALF_A_MEGABYTE // 11))), 100),
        (otlp.metrics_data(otlp.gauge("g", otlp.message(7, b"") * (_HALF_A_MEGABYTE // 2))), 0),
        (otlp.metrics_data(otlp.message(7, otlp.number_field(9, 1) * (_HALF_A_MEGABYTE // 2))), 0),
    ],
)
def test_no_large_message_is_read_in_one_step(data: bytes, points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]

    def counted(data: memoryview) -> Iterator[Field]:
        for field in fields(data):
            now[0] += 1
            yield field

    monkeypatch.setattr(otlp_reader, "fields", counted)
    monkeypatch.setattr(point_reader, "fields", counted)
    found: list[Pushed] = []

    def reading() -> Steps[None]:
        found.append((yield from read_metrics(data, 100)))

    most = before = 0
    for _ in reading():
        most, before = max(most, now[0] - before), now[0]
    assert max(most, now[0] - before) <= 3 * BYTES_A_STEP
    assert len(found[0].points) == points


def test_a_point_too_large_to_be_kept_is_not_read() -> None:
    large = otlp.message(7, b"") * (POINT_BYTES_MAX // 2) + otlp.double_field(4, 1.0)
    assert read(otlp.metrics_data(otlp.gauge("g", large, otlp.point(2.0)))) == Pushed([Point("g", (), 2.0)], 1)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",  # no length
        b"\x0a\x05ab",  # longer than there is
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a number that does not end
        b"\x09\x00",  # eight bytes of which there are one
        b"\x0b",  # a group
        b"\x02\x00",  # field 0
        otlp.metrics_data(otlp.message(1, b"\xff")),  # no UTF-8
        otlp.metrics_data(otlp.histogram("h", otlp.message(7, b"1234567"))),  # half a number
        otlp.metrics_data(otlp.number_field(99, 1) * (METRIC_FIELDS_MAX + 1)),
    ],
)
def test_invalid_metrics_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        read(data)


def test_damage_is_refused_or_read_and_nothing_else() -> None:
    dice = random.Random(714)
    whole = otlp.metrics_data(
        otlp.gauge("metric", *(otlp.point(1.5, key="value") for _ in range(5))),
        otlp.sum_of("sum", otlp.whole_point(3), is_delta=True),
    )
    refused = 0
    for _ in range(3_000):
        damaged = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            read(bytes(damaged[: dice.randrange(len(damaged) + 1)]))
        except DecodeError:
            refused += 1
    assert 0 < refused < 3_000
