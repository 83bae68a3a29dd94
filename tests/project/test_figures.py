"""A figure that several documents say is the same in all of them, rounded where one of them rounds it.

docs/performance.md has what was measured; counts come from the tree.
"""

import re
from collections.abc import Callable

import pytest

from scripts._compile import compiled_modules
from tests.simulation.test_seeds import SEEDS
from tests.support.source_tree import ROOT


def _said(path: str) -> str:
    """The text of a document, on one line."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def _measured(row: str) -> list[float]:
    """The figures of the one place in docs/performance.md that `row` matches."""
    [found] = re.findall(row, _said("docs/performance.md"))
    return [float(each.replace(",", "")) for each in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize(
    ("row", "path", "said"),
    [
        (r"\| ready_ms \| (\d+)", "README.md", lambda ms: f"ready {ms / 1000:.1f} s after its start"),
        (r"holds ([\d.]+) MB in the pure form", "README.md", lambda mb: f"takes {mb:.0f} MB of memory when idle"),
        (r"\| fixture_ms \| ([\d.]+)", "README.md", lambda ms: f"takes {ms:.0f} ms to set up"),
        (r"\| fixture_ms \| ([\d.]+)", "docs/testing.md", lambda ms: f"forks a broker in about {ms:.0f} ms"),
        (
            r"W2: produce, 1,000 B, MB/s \| (\d+) \| (\d+) ",
            "README.md",
            lambda ours, kafkas: rf"\(W2\) \| {ours:.0f} MB/s, .* per GB \| {kafkas:.0f} MB/s",
        ),
        (
            r"W6: 100 connections, requests/s \| ([\d,]+) \| ([\d,]+) ",
            "README.md",
            lambda ours, kafkas: rf"\(W6\) \| {_thousands(ours)} a second, .* \| {_thousands(kafkas)} a second",
        ),
        (
            r"W9: producer to consumer, p50, µs \| (\d+) \| (\d+) .*? W9: p99, µs \| ([\d,]+) \| ([\d,]+) ",
            "README.md",
            lambda ours, kafkas, our_p99, kafkas_p99: (
                rf"\(W9\): median, p99 \| {_ms(ours)} ms, {_ms(our_p99)} ms \| {_ms(kafkas)} ms, {_ms(kafkas_p99)} ms"
            ),
        ),
        (
            r"\| ready_ms \| (\d+) \| [\d,]+ \| ([\d,]+) ",
            "README.md",
            lambda ours, kafkas: rf"clients can connect \| {ours / 1000:.2f} s \| {kafkas / 1000:.1f} s",
        ),
        (
            r"idle_rss_mb \| [\d.]+ \| \d+ \| (\d+) .*? holds ([\d.]+) MB in the pure form \(aim \d+\) and ([\d.]+) MB",
            "README.md",
            lambda kafkas, pure, compiled: rf"idle memory \| {compiled:.0f} MB; {pure:.0f} MB in .* \| {kafkas:.0f} MB",
        ),
        (
            r"holds ([\d.]+) MB in the pure form \(aim \d+\) and ([\d.]+) MB",
            "docs/compiled.md",
            lambda pure, compiled: f"an idle broker holds {compiled:.0f} MB in place of {pure:.0f}",
        ),
    ],
)
def test_a_measured_figure_is_repeated_as_it_was_measured(row: str, path: str, said: Callable[..., str]) -> None:
    expected = said(*_measured(row))
    assert re.search(expected, _said(path)), f"{path} does not say {expected!r}"


def test_the_lost_commits_are_counted_alike() -> None:
    [(acknowledged, whole)] = re.findall(
        r"(\d+) commits were acknowledged\. .*? (\d+) of these", _said("docs/kafka-4.4.md")
    )
    assert f"4.4.0: {whole} of {acknowledged} complete" in _said("README.md")


def test_the_compiled_modules_are_counted() -> None:
    assert f" {len(compiled_modules())} modules are " in _said("docs/compiled.md")


@pytest.mark.parametrize("path", ["docs/testing-barnabas.md", "docs/track-record.md"])
def test_the_seeds_of_every_run_are_counted(path: str) -> None:
    assert f"{len(SEEDS)} seeds" in _said(path)


def _thousands(number: float) -> str:
    return f"{round(number, -3):,.0f}"


def _ms(us: float) -> str:
    """Milliseconds with two digits that count."""
    return f"{us / 1000:.2f}" if us < 1000 else f"{us / 1000:.1f}"
