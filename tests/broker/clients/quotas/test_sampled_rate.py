"""Windows, buckets and rates against naive models that remember everything, and Kafka's own worked examples."""

from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.clients.quotas.sampled_rate import Average, SampledRate, WindowSettings
from barnabas.broker.clients.quotas.token_bucket import TokenBucket

TEN_SECONDS = WindowSettings(11, 1000)

_steps = st.lists(st.tuples(st.integers(0, 4_000), st.integers(-50, 5_000)), max_size=60)
_settings = st.builds(WindowSettings, st.integers(1, 12), st.integers(1, 2_000))


class _Samples:
    """Kafka's SampledStat and Rate, word for word: a list that wraps around, and samples that are reset."""

    def __init__(self, settings: WindowSettings) -> None:
        self.settings = settings
        self.samples: list[dict[str, float]] = []
        self.current = 0

    def record(self, value: float, now: int) -> None:
        count, size = self.settings
        if not self.samples:
            self.samples.append({"start": now, "last": now, "value": 0.0})
        if now - self.samples[self.current]["start"] >= size:
            self.current = (self.current + 1) % (count + 1)
            fresh = {"start": now, "last": now, "value": 0.0}
            if self.current >= len(self.samples):
                self.samples.append(fresh)
            else:
                self.samples[self.current] = fresh
        self.samples[self.current]["value"] += value
        self.samples[self.current]["last"] = now

    def rate(self, now: int) -> float:
        count, size = self.settings
        for position, sample in enumerate(self.samples):
            if now - sample["last"] >= count * size:
                self.samples[position] = {"start": now, "last": now, "value": 0.0}
        return sum(sample["value"] for sample in self.samples) / (self.span(now) / 1000)

    def span(self, now: int) -> float:
        count, size = self.settings
        elapsed = now - min((sample["start"] for sample in self.samples), default=now)
        full = floor(elapsed / size)
        if full < count - 1:
            elapsed += (count - 1 - full) * size
        return max(elapsed, 1)


@given(_settings, _steps, st.integers(0, 30_000))
def test_a_rate_is_that_of_kafkas_samples(settings: WindowSettings, steps: list[tuple[int, int]], after: int) -> None:
    windows, model, now = SampledRate(settings), _Samples(settings), 1_000_000
    for wait, value in steps:
        now += wait
        windows.record(value, now)
        model.record(value, now)
        assert windows.rate(now) == pytest.approx(model.rate(now))
    assert windows.rate(now + after) == pytest.approx(model.rate(now + after))
    assert windows.span_ms(now + after) == model.span(now + after)


@given(_settings, _steps)
def test_stored_entries_are_bounded_and_expire(settings: WindowSettings, steps: list[tuple[int, int]]) -> None:
    windows, now = SampledRate(settings), 0
    for wait, value in steps:
        now += wait
        windows.record(value, now)
        assert len(windows._windows) <= settings.windows + 1
    assert windows.total(now + settings.windows * settings.size_ms) == 0


@given(st.integers(100, 100_000), st.lists(st.integers(1, 200_000), min_size=1, max_size=100))
def test_a_client_that_obeys_throttling_uses_less_than_twice_its_quota(quota: int, sizes: list[int]) -> None:
    """However much at once: what is waited for longer than the windows last is forgotten by then. So it is in Kafka."""
    windows, now, used = SampledRate(TEN_SECONDS), 0, 0
    for size in sizes:
        windows.record(size, now)
        used += size
        now += windows.throttle_ms(quota, now)
        assert used <= 2 * quota * (now + 1) / 1000 + quota * 11 + size


@given(st.integers(1_000, 100_000), st.lists(st.integers(1, 100), min_size=1, max_size=1_000))
def test_small_requests_stay_under_the_quota(quota: int, parts: list[int]) -> None:
    """In the long run, the burst of the first windows apart."""
    windows, now, used = SampledRate(TEN_SECONDS), 0, 0.0
    for part in parts:
        size = quota * part / 100  # a second's worth at most
        windows.record(size, now)
        used += size
        now += windows.throttle_ms(quota, now)
        assert used <= quota * now / 1000 * 1.1 + quota * 12


def test_throttles_are_those_of_kafkas_own_test() -> None:
    """ClientQuotaManagerTest.testQuotaViolation: a quota of 500, a spike after 10.5 s, and its end."""
    windows, now = SampledRate(TEN_SECONDS), 0
    for _ in range(10):
        windows.record(400, now)
        assert windows.throttle_ms(500, now) == 0
        now += 1000
    now += 500
    windows.record(2300, now)
    assert windows.throttle_ms(500, now) == 2100
    now += 2100
    for _ in range(10):
        windows.record(400, now)
        now += 1000
    assert windows.throttle_ms(500, now) == 0


def test_a_throttle_time_fits_its_response_field() -> None:
    windows = SampledRate(TEN_SECONDS)
    windows.record(10**12, 0)
    assert windows.throttle_ms(1, 0) == 0x7FFF_FFFF
    assert windows.throttle_ms(1, 0, 1000) == 1000


def test_an_average_is_over_the_last_minute() -> None:
    average = Average()
    assert average.value(0) == 0
    average.record(10, 0)
    average.record(20, 1)
    assert average.value(2) == 15
    assert average.value(70_000) == 0


@given(_settings, st.integers(1, 100), st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 500)), max_size=50))
def test_a_bucket_is_never_fuller_than_a_burst(
    settings: WindowSettings, rate: int, steps: list[tuple[int, int]]
) -> None:
    bucket, now = TokenBucket(settings), 0
    burst = settings.windows * settings.size_ms / 1000 * rate
    tokens = burst
    for wait, count in steps:
        now += wait
        tokens = min(burst, tokens + rate * wait / 1000)
        assert abs(bucket.tokens(rate, now) - tokens) < 1e-6
        bucket.take(count, rate, now)
        tokens -= count
        throttle_ms = bucket.throttle_ms(rate, now)
        if tokens < -1e-6:
            assert abs(throttle_ms - -tokens / rate * 1000) <= 0.51
        assert abs(bucket.tokens(rate, now + throttle_ms)) < burst + 1
