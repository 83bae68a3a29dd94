"""How people write times."""

import pytest

from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import duration_ms, moment_ms, moment_text

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("500ms", 500),
        ("90s", 90_000),
        ("15m", 900_000),
        ("1h30m", 5_400_000),
        ("1.5h", 5_400_000),
        ("7d", 7 * DAY_MS),
        ("2w", 14 * DAY_MS),
        ("0s", 0),
    ],
)
def test_lengths_of_time(text: str, expected_ms: int) -> None:
    assert duration_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["", "15", "m", "15 m", "-1s", "1s-", "1y", "15m\n", "１５m", "1e3s", "." * 99])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ClockRefused, match="is not a length of time such as 90s, 15m, 1h30m or 7d"):
        duration_ms(text)


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:01+01:00", 1000),
        ("1970-01-01 00:00:01", 1000),
        ("1970-01-02", DAY_MS),
        ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
        ("1700000000123", 1_700_000_000_123),
    ],
)
def test_moments(text: str, expected_ms: int) -> None:
    assert moment_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01", "-5", "1e5", "9" * 16])
def test_invalid_times(text: str) -> None:
    with pytest.raises(ClockRefused, match="is not a time such as"):
        moment_ms(text)


def test_a_moment_as_people_read_it() -> None:
    assert moment_text(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert moment_text(10**15) == str(10**15)
