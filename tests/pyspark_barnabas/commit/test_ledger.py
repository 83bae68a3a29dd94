"""The ledger's bytes are those of its page, are read as they were written, and damage is never guessed at."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import (
    Decided,
    Ledger,
    LedgerDamaged,
    LedgerRecord,
    Run,
    Settled,
    SourceOffset,
    decode_value,
    encode_key,
    encode_value,
)
from pyspark_barnabas.commit.messages import PreparedTransaction, WrittenPartition
from tests.support.source_tree import ROOT

RUN = RunToken(4711, 2)
DECIDED = Decided(
    "8d3c",
    7,
    "2f6b",
    RUN,
    8,
    (PreparedTransaction("shop.4711-2.0.83", 4712, 0), PreparedTransaction("shop.4711-2.1.84", 4713, 5)),
    rows=2000,
    digest=0x1F,
    offsets=(SourceOffset("orders", 0, 18004),),
    checkpoint_hash="9f86d081",
)
counts = st.integers(0, 2**63 - 1)
runs = st.builds(RunToken, counts, counts)
records = st.one_of(
    st.builds(Run, st.text(), st.text(), runs),
    st.builds(Settled, st.text(), counts, st.text(), runs, counts),
    st.builds(
        Decided,
        st.text(),
        counts,
        st.text(),
        runs,
        counts,
        st.lists(st.builds(PreparedTransaction, st.text(), counts, counts), max_size=3).map(tuple),
        rows=counts,
        digest=st.integers(0, 2**64 - 1),
        offsets=st.lists(st.builds(SourceOffset, st.text(), counts, counts), max_size=3).map(tuple),
        checkpoint_hash=st.none() | st.text(),
        is_atomic=st.booleans(),
        written=st.lists(st.builds(WrittenPartition, st.text(), counts, counts), max_size=3).map(tuple),
    ),
)


@given(records)
def test_a_record_is_read_as_it_was_written(record: LedgerRecord) -> None:
    assert decode_value(encode_value(record)) == record


@given(records, st.data())
def test_a_record_that_was_cut_off_is_refused(record: LedgerRecord, data: st.DataObject) -> None:
    value = encode_value(record)
    with pytest.raises(LedgerDamaged):
        decode_value(value[: data.draw(st.integers(0, len(value) - 1))])


@given(st.binary(max_size=40))
def test_arbitrary_bytes_are_refused(value: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        decode_value(value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"batch":7', b'"batch":-7'),
        (b'"batch":7', b'"batch":7.0'),
        (b'"batch":7', b'"batch":true'),
        (b'"atomic":false', b'"atomic":0'),
        (b'"atomic":false', b'"atomic":false,"more":1'),
        (b'"kind":"decided"', b'"kind":"undone"'),
        (b'"rows":2000,', b""),
        (b'"written":[]', b'"written":[["orders",0]]'),
        (b'"sequence":8', b'"sequence":-8'),
        (b'"version":1', b'"version":0'),
        (b'"batch":7', b'"batch":7,"batch":7'),
    ],
)
def test_inexact_spellings_are_refused(old: bytes, new: bytes) -> None:
    value = encode_value(DECIDED)
    assert old in value
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        decode_value(value.replace(old, new))


@pytest.mark.parametrize("value", [None, b"", b"[]", b"null", b"1", b"\xff"])
def test_a_value_that_is_no_object_is_refused(value: bytes | None) -> None:
    with pytest.raises(LedgerDamaged, match="not a JSON object"):
        decode_value(value)


def test_a_newer_version_is_named() -> None:
    with pytest.raises(LedgerDamaged, match="use the newer release"):
        decode_value(b'{"version":2,"kind":"something"}')


def test_the_worked_bytes_of_the_page_are_ours() -> None:
    page = (ROOT / "docs" / "formats" / "ledger.md").read_text(encoding="utf-8")
    worked = re.findall(r"^    (\{.*\})$", page, re.MULTILINE)
    run = Run("8d3c", "2f6b", RUN)
    settled = Settled("write:2026-11-21", 0, "c0de", RUN, 2)
    assert worked == [encode_value(each).decode() for each in (run, DECIDED, settled)]
    assert [decode_value(each.encode()) for each in worked] == [run, DECIDED, settled]
    assert encode_key(DECIDED) == b"8d3c"


def test_a_runs_last_record_tells_what_comes_next() -> None:
    other = RunToken(4711, 3)
    written = (WrittenPartition("orders", 0, 12),)
    begun, decided = Run("8d3c", "2f6b", RUN), replace(DECIDED, sequence=1, is_atomic=True, written=written)
    ledger = Ledger((begun, decided, Run("8d3c", "77aa", other)))
    assert [ledger.next_sequence(each) for each in (RUN, other, RunToken(1, 1))] == [2, 1, 0]
    assert [ledger.written(each) for each in (RUN, other)] == [written, ()]
    assert [Ledger(ledger.records[:count]).holder() for count in (0, 1, 3)] == [None, begun, ledger.records[2]]
    assert ledger.newest() == decided


def test_an_end_of_the_ledger_is_enough_that_begins_two_batches_before() -> None:
    ledger = Ledger((DECIDED, Run("8d3c", "77aa", RUN)))
    assert [ledger.reaches("8d3c", each) for each in (6, 7, 8, 9, 10)] == [False, False, False, True, True]
    assert not ledger.reaches("other", 9)


def test_a_later_batch_proves_the_one_before_settled() -> None:
    later = Decided("8d3c", 8, "2f6b", RUN, 9, DECIDED.transactions, 0, 0, (), None)
    other = Decided("other", 8, "2f6b", RUN, 9, DECIDED.transactions, 0, 0, (), None)
    assert Ledger((DECIDED, later)).is_settled(DECIDED)
    assert not Ledger((DECIDED, later)).is_settled(later)
    assert not Ledger((DECIDED, other)).is_settled(DECIDED)
    assert Ledger((DECIDED, Settled("8d3c", 7, "2f6b", RUN, 9))).is_settled(DECIDED)
