"""The benchmark's tables hold ours against the others' best of the same run, and say what speaks against a figure."""

import pytest

from bench.measuring import report
from bench.measuring.loads import Load, no_topic
from bench.measuring.rounds import FULL, QUICK, Measured
from bench.measuring.warming import SPREAD, Warming
from bench.peers.peer import Figures, Peer

PEERS = ["barnabas", "kafka"]


def _never(peer: Peer, topic: str, seconds: float) -> Figures:
    raise AssertionError("a table runs nothing")


def _load(name: str, rivals: str = "") -> Load:
    return Load(
        name,
        f"load {name}",
        _never,
        {"per_second": True, "p99_us": False},
        {"per_second": ">= 2"},
        no_topic,
        rivals=rivals,
    )


def _measured(
    load: Load, rates: dict[str, list[float]], *, warmed_to: float = 100.0, is_flat: bool = True, others: float = 1.0
) -> Measured:
    rounds = {
        peer: [{"per_second": rate, "p99_us": 1e6 / rate, "others_percent": others} for rate in each]
        for peer, each in rates.items()
    }
    return Measured(load, {peer: Warming(12.0, is_flat, [warmed_to] * 6) for peer in rates}, rounds)


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


@pytest.mark.parametrize("make", [report.table, report.transactions_table, report.warming_table])
def test_every_row_has_a_cell_for_each_column(make: object) -> None:
    assert callable(make)
    found = [_measured(_load("A"), {"barnabas": [200.0], "kafka": [100.0]}), _measured(_load("B"), {"barnabas": [1.0]})]
    rows = _rows(make(found, PEERS))
    assert len(rows) >= 4
    assert {len(row) for row in rows} == {len(rows[0])}


def test_a_figure_is_the_median_with_its_spread_and_its_ratio() -> None:
    measured = _measured(_load("A"), {"barnabas": [300.0, 100.0, 200.0], "kafka": [400.0, 500.0, 450.0]})
    rows = _rows(report.table([measured], PEERS))
    assert rows[2] == ["A", "per_second", "200 (100–300)", "450 (400–500)", "0.44", ">= 2"]


def test_ours_is_held_against_the_best_of_the_same_work() -> None:
    """Kafka is better at B, asked in the other way; ours at A is held against that, and so is ours at B."""
    found = [
        _measured(_load("A", "same"), {"barnabas": [1000.0], "kafka": [100.0]}),
        _measured(_load("B", "same"), {"barnabas": [800.0], "kafka": [500.0]}),
        _measured(_load("C"), {"barnabas": [1000.0], "kafka": [2000.0]}),
    ]
    rates = [row for row in _rows(report.table(found, PEERS)) if row[1] == "per_second"]
    assert [row[4] for row in rates] == ["2.00", "1.60", "0.50"]
    times = [row for row in _rows(report.table(found, PEERS)) if row[1] == "p99_us"]
    assert [row[4] for row in times] == ["0.50", "0.62", "2.00"]
    assert [row[3] for row in _rows(report.transactions_table(found, PEERS))[2:]] == ["2.00", "1.60", "0.50"]


def test_a_peer_that_was_not_flat_or_rose_since_is_marked() -> None:
    level = 100.0
    risen = level * (1 + SPREAD) + 1
    found = [
        _measured(_load("flat"), {"kafka": [level]}),
        _measured(_load("capped"), {"kafka": [level]}, is_flat=False),
        _measured(_load("risen"), {"kafka": [risen]}),
    ]
    flat, capped, rose = (row[1] for row in _rows(report.warming_table(found, ["kafka"]))[2:])
    assert flat == "12 s, flat; rounds 1.00 of it"
    assert "NOT flat" in capped
    assert rose.endswith("ROSE since")


def test_a_busy_machine_is_marked() -> None:
    found = [_measured(_load("A"), {"kafka": [1.0]}, others=share) for share in (3.0, 40.0)]
    assert [row[2] for row in _rows(report.warming_table(found, ["kafka"]))[2:]] == ["3 %", "40 %: BUSY"]


def test_what_warming_watches_rises_as_times_fall() -> None:
    load = _load("A")._replace(figures={"p50_us": False})
    assert load.pace({"p50_us": 100.0}) > load.pace({"p50_us": 200.0})


def test_a_quick_run_measures_less_and_warms_by_the_same_rule() -> None:
    assert QUICK.slice_s == FULL.slice_s
    assert QUICK.rounds % 2 == FULL.rounds % 2 == 0  # each peer is first as often as the other
