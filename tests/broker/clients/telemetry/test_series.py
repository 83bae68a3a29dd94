"""What clients pushed is kept by series, and is bounded whatever they push."""

from barnabas.broker.clients.telemetry import series as limits
from barnabas.broker.clients.telemetry.points import Histogram, Point
from barnabas.broker.clients.telemetry.series import PushedSeries, TelemetryClient

A, B = TelemetryClient("a", "one"), TelemetryClient("b", "two")


def test_a_value_takes_the_place_of_the_last_and_a_delta_is_added() -> None:
    kept = PushedSeries()
    for value in (1.0, 2.0):
        kept.add(A, Point("gauge", (), value))
        kept.add(A, Point("sum", (("k", "v"),), value, is_delta=True))
    kept.add(B, Point("gauge", (), 9.0))
    assert list(kept.of(A)) == [("gauge", {}, 2.0), ("sum", {"k": "v"}, 3.0)]
    assert list(kept.of(B)) == [("gauge", {}, 9.0)]
    assert (kept.clients(), len(kept), kept.left_out) == ([A, B], 3, 0)


def test_a_client_has_only_so_many_series_and_all_have() -> None:
    kept = PushedSeries()
    for number in range(limits.SERIES_OF_CLIENT_MAX + 3):
        kept.add(A, Point(f"n{number}", (), 1.0))
    assert (len(kept), kept.left_out) == (limits.SERIES_OF_CLIENT_MAX, 3)
    for client in range(10):
        for number in range(limits.SERIES_OF_CLIENT_MAX):
            kept.add(TelemetryClient(str(client), ""), Point(f"n{number}", (), 1.0))
    assert len(kept) == limits.SERIES_MAX
    kept.add(A, Point("n0", (), 5.0))  # one that is there is still told
    assert next(kept.of(A)) == ("n0", {}, 5.0)


def test_text_is_bounded_and_a_client_that_is_gone_makes_room() -> None:
    kept = PushedSeries()
    kept.add(A, Point("n" * (limits.TEXT_OF_SERIES_MAX + 1), (), 1.0))
    assert (len(kept), kept.left_out) == (0, 1)
    long = "x" * (limits.TEXT_OF_SERIES_MAX - 20)
    for client in range(5):
        for number in range(1_000):
            kept.add(TelemetryClient(str(client), ""), Point(str(number), (("label", long),), 1.0))
    assert len(kept) < 5_000
    full = len(kept)
    kept.add(A, Point("late", (("label", long),), 1.0))
    assert len(kept) == full
    kept.forget(TelemetryClient("0", ""))
    kept.add(A, Point("late", (("label", long),), 1.0))
    assert [name for name, _, _ in kept.of(A)] == ["late"]
    kept.forget(TelemetryClient("nobody", ""))


def histogram(*counts: int, total: float | None = 1.0) -> Histogram:
    return Histogram(tuple(map(float, range(len(counts) - 1))), counts, total)


def test_delta_histograms_are_added_bucket_by_bucket_and_others_take_the_place() -> None:
    kept = PushedSeries()
    for _ in range(2):
        kept.add(A, Point("delta", (), histogram(1, 0, 2), is_delta=True))
        kept.add(A, Point("cumulative", (), histogram(1, 0, 2)))
    assert [value for _, _, value in kept.of(A)] == [histogram(2, 0, 4, total=2.0), histogram(1, 0, 2)]
    kept.add(A, Point("delta", (), histogram(1, 0, 0, total=None), is_delta=True))
    assert next(kept.of(A))[2] == histogram(3, 0, 4, total=None)


def test_a_delta_of_other_bounds_or_of_another_kind_begins_anew() -> None:
    kept = PushedSeries()
    for value in (1.0, histogram(1, 1, 1), histogram(5, 5), 2.0):
        kept.add(A, Point("m", (), value, is_delta=True))
        assert [each for _, _, each in kept.of(A)] == [value]
    assert len(kept) == 1


def test_a_histogram_has_one_series_for_each_exposed_bucket() -> None:
    kept = PushedSeries()
    kept.add(A, Point("h", (), histogram(1, 2, 3)))
    assert len(kept) == 5
    kept.add(A, Point("h", (), histogram(1, 2)))
    assert len(kept) == 4
    for number in range(limits.SERIES_OF_CLIENT_MAX):
        kept.add(A, Point(f"h{number}", (), histogram(1, 2)))
    assert len(kept) == limits.SERIES_OF_CLIENT_MAX
    kept.add(A, Point("h", (), histogram(*range(50))))  # there is no room for more buckets
    assert next(kept.of(A))[2] == histogram(1, 2)
    kept.forget(A)
    assert len(kept) == 0
