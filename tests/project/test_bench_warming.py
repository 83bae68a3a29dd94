"""The benchmark calls a peer warm when its rate is flat, and says so when it never was."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from bench.measuring.warming import RISE, SPREAD, WINDOW, is_flat, warm_until_flat

STEADY = [100.0, 101.0, 99.0, 100.0, 100.5, 99.5]


def test_a_steady_rate_is_flat() -> None:
    assert is_flat(STEADY)


def test_less_than_two_windows_are_never_flat() -> None:
    assert not any(is_flat([100.0] * count) for count in range(2 * WINDOW))


@pytest.mark.parametrize("growth", [1.012, 1.05, 1.5])
def test_a_rate_that_rises_from_slice_to_slice_is_not_flat(growth: float) -> None:
    assert not is_flat([100.0 * growth**number for number in range(12)])


def test_a_rise_within_the_last_window_is_not_flat() -> None:
    assert not is_flat([100.0, 100.0, 100.0, 100.0, 102.0, 104.0])


def test_a_step_up_between_the_windows_is_not_flat() -> None:
    step = 100 * (1 + RISE) + 1
    assert not is_flat([100.0] * 3 + [step] * 3)
    assert is_flat([100.0] * 3 + [step] * 6)


def test_slices_far_apart_are_not_flat() -> None:
    assert not is_flat([100.0, 100.0, 100.0, 100.0, 100.0 * (1 - SPREAD) - 1, 100.0])


def test_a_rate_that_fell_is_not_flat() -> None:
    assert not is_flat([100.0] * 3 + [80.0] * 3)


def test_only_the_last_two_windows_count() -> None:
    assert is_flat([10.0, 50.0, 300.0, *STEADY])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_the_unit_of_the_rate_does_not_matter(scale: float) -> None:
    assert is_flat([rate * scale for rate in STEADY])
    assert not is_flat([rate * scale for rate in (100.0, 100.0, 100.0, 120.0, 121.0, 120.0)])


def _ticking(step_s: float) -> Callable[[], float]:
    ticks = itertools.count(0.0, step_s)
    return lambda: next(ticks)


def _next_of(rates: Iterator[float]) -> Callable[[], float]:
    return lambda: next(rates)


def test_warming_ends_with_the_first_flat_window() -> None:
    rising = [50.0, 80.0, 95.0]
    warming = warm_until_flat(_next_of(itertools.chain(rising, itertools.repeat(100.0))), _ticking(2.0), cap_s=1000)
    assert warming.is_flat
    assert warming.rates == [*rising, *[100.0] * 5]  # with four, the window before them is still at 95
    assert warming.level == 100.0
    assert warming.in_words() == f"{2.0 * len(warming.rates):.0f} s, flat"


def test_warming_that_was_capped_says_that_it_was_not_flat() -> None:
    doubling = (2.0**number for number in itertools.count())
    warming = warm_until_flat(_next_of(doubling), _ticking(2.0), cap_s=9)
    assert not warming.is_flat
    assert (len(warming.rates), warming.seconds) == (5, 10.0)
    assert warming.in_words() == "10 s, NOT flat when the time was up"


def test_warming_ends_when_the_peer_holds_much_memory_but_not_before_it_can_be_flat() -> None:
    doubling = (2.0**number for number in itertools.count())
    warming = warm_until_flat(_next_of(doubling), _ticking(2.0), cap_s=1000, is_full=lambda: True)
    assert (len(warming.rates), warming.is_flat) == (2 * WINDOW, False)
    assert warming.in_words() == "12 s, NOT flat when it held much memory"
