"""The notation of the probe book: text and messages, names for what changes, and where two answers differ."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.messages.end_txn import EndTxnResponse
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.protocol.messages.init_producer_id import InitProducerIdResponse
from barnabas.protocol.messages.list_transactions import ListTransactionsResponse, TransactionState
from barnabas.protocol.messages.produce import ProduceResponse, TopicProduceResponse
from barnabas.protocol.messages.write_txn_markers import WritableTxnMarkerPartitionResult, WritableTxnMarkerTopicResult
from docs.generate.differences import tables
from tests.support.probes import records
from tests.support.probes.compare import MISSING, Difference, differences
from tests.support.probes.differences import Found
from tests.support.probes.names import Names, Unknown
from tests.support.probes.notation import node_of, struct_of
from tests.support.probes.page import Answer, Page, Step, Story, answer_lines, read
from tests.support.probes.tree import Node, items, listed, parse, quoted, unquoted

_WORDS = st.text(max_size=20).filter(lambda text: "\x00" not in text)
_NODES = st.recursive(
    st.builds(Node, st.dictionaries(st.sampled_from("abc"), _WORDS.map(quoted))),
    lambda rows: st.builds(
        Node,
        st.dictionaries(st.sampled_from("abc"), _WORDS.map(quoted)),
        st.lists(st.tuples(st.sampled_from("xyz"), rows), max_size=3),
    ),
    max_leaves=8,
)


def node(text: str) -> Node:
    head, *lines = text.splitlines()
    return parse(head, lines)


@given(_NODES)
def test_a_node_is_read_as_it_was_written(written: Node) -> None:
    assert parse(written.head(), list(written.lines())) == written


@given(_WORDS)
def test_any_string_is_a_word(text: str) -> None:
    word = quoted(text)
    assert unquoted(word) == text
    assert word != "null"


@given(st.lists(st.integers(0, 30)))
def test_a_list_of_numbers_is_read_as_it_was_written(numbers: list[int]) -> None:
    words = [str(number) for number in numbers]
    assert items(listed(words)) == words


def test_four_numbers_that_follow_each_other_are_told_by_two() -> None:
    assert listed(["1", "2", "3", "5", "6", "7", "8"]) == "[1, 2, 3, 5..8]"


@pytest.mark.parametrize("text", ["a=1 b", 'a="open', "a=1\n  no row", "=1"])
def test_what_is_no_notation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        node(text)


def test_a_request_takes_defaults_and_leaves_out_what_its_version_has_not() -> None:
    text = node("min_bytes=1\n    topics: topic=f topic_id=<topic f>\n      partitions: partition=2 fetch_offset=15")
    older, newer = (struct_of(text, FetchRequest, version, Names()) for version in (12, 13))
    assert older.min_bytes == 1
    assert older.session_epoch == -1
    assert older.topics[0].partitions[0].fetch_offset == 15
    assert (older.topics[0].topic, older.topics[0].topic_id) == ("f", bytes(16))
    assert newer.topics[0].topic == ""
    assert any(newer.topics[0].topic_id)


def test_a_field_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="FetchRequest has no colour"):
        struct_of(node("colour=red"), FetchRequest, 12, Names())


def test_an_id_has_one_name_in_a_story_and_what_the_story_gave_is_shown() -> None:
    names = Names()
    names.give("producer_id", 7)
    told = [
        node_of(InitProducerIdResponse(error_code=0, producer_id=number, producer_epoch=0), 5, names).head()
        for number in (4711, 4712, 4711, 7)
    ]
    assert told == [f"error_code=NONE producer_id={name} producer_epoch=0" for name in (*_ids(1, 2, 1), "7")]
    assert names.value("<producer2>") == 4712
    names.begin_story()
    with pytest.raises(Unknown):
        names.value("<producer2>")


def _ids(*numbers: int) -> list[str]:
    return [f"<producer{number}>" for number in numbers]


def test_rows_are_told_in_order_and_many_alike_as_one() -> None:
    rows = [WritableTxnMarkerPartitionResult(partition_index=index, error_code=0) for index in (11, 2, 3, 1, 0)]
    told = node_of(WritableTxnMarkerTopicResult(name="t", partitions=rows), 1, Names())
    assert told.text().splitlines() == [
        "name=t",
        "    partitions: partition_index=0..3 error_code=NONE",
        "    partitions: partition_index=11 error_code=NONE",
    ]


def test_a_fetch_keeps_its_order_and_tells_how_much_of_a_cut_batch_came() -> None:
    whole = records.batch("v")
    partitions = [
        PartitionData(partition_index=index, error_code=0, high_watermark=1, aborted_transactions=[], records=data)
        for index, data in ((1, whole + whole[:7]), (0, b""))
    ]
    answer = FetchResponse(
        responses=[FetchableTopicResponse(topic=topic, partitions=partitions) for topic in ("b", "a")]
    )
    assert [line.split()[:2] for line in node_of(answer, 12, Names()).lines()] == [
        words
        for topic in ("b", "a")
        for words in (
            ["responses:", f"topic={topic}"],
            ["partitions:", "partition_index=1"],
            ["records:", "offsets=0-0"],
            ["records:", "cut=7"],
            ["partitions:", "partition_index=0"],
        )
    ]


def test_rows_that_say_nothing_are_told_each() -> None:
    nameless = TopicProduceResponse(partition_responses=[])
    assert node_of(ProduceResponse(responses=[nameless, nameless]), 13, Names()).text() == "\n    responses:" * 2


def test_another_order_is_a_difference() -> None:
    kafkas, ours = node("\n    topics: name=a\n    topics: name=b"), node("\n    topics: name=b\n    topics: name=a")
    assert list(differences([Answer(None, kafkas)], [Answer(None, ours)])) == [
        Difference(None, "topics", "a, b", "b, a")
    ]


def test_an_answer_tells_what_has_no_default_and_what_differs_from_it() -> None:
    state = TransactionState(transactional_id="t", producer_id=9, transaction_state="Empty")
    response = ListTransactionsResponse(error_code=0, unknown_state_filters=[], transaction_states=[state])
    assert node_of(response, 2, Names()).text() == (
        "error_code=NONE\n    transaction_states: transactional_id=t producer_id=<producer1> transaction_state=Empty"
    )
    assert node_of(EndTxnResponse(error_code=90), 5, Names()).head() == "error_code=PRODUCER_FENCED"


def test_answers_differ_field_by_field_and_a_code_stands_for_what_follows_from_it() -> None:
    kafkas = node("error_code=NONE epoch=1\n    topics: name=a offset=1\n    topics: name=b offset=1")
    ours = node("error_code=NONE epoch=2\n    topics: name=b offset=3\n    topics: name=c")
    refused = node("error_code=UNKNOWN_SERVER_ERROR epoch=2")
    assert list(differences([Answer(3, kafkas)], [Answer(3, ours)])) == [
        Difference(3, "epoch", "1", "2"),
        Difference(3, "topics", "a", "c"),
        Difference(3, "topics[b].offset", "1", "3"),
    ]
    assert list(differences([Answer(None, kafkas)], [Answer(None, refused)])) == [
        Difference(None, "error_code", "NONE", "UNKNOWN_SERVER_ERROR")
    ]
    assert list(differences([Answer(None, kafkas)], [Answer(None, kafkas)])) == []


def test_silence_and_a_missing_answer_are_differences() -> None:
    answer = Answer(None, node("error_code=NONE"))
    assert list(differences([Answer(None, "silent")], [answer])) == [
        Difference(None, "answer", "silent", "error_code=NONE")
    ]
    assert list(differences([answer], [])) == [Difference(None, "answer", "error_code=NONE", MISSING)]


def test_equal_answers_in_versions_that_follow_each_other_are_told_once() -> None:
    same, other = node("error_code=NONE"), node("error_code=PRODUCER_FENCED")
    answers = [Answer(0, same), Answer(1, same), Answer(2, other), Answer(3, "closed")]
    assert list(answer_lines(answers)) == ["< v0-1 error_code=NONE", "< v2 error_code=PRODUCER_FENCED", "< v3 closed"]


def test_a_difference_that_no_decision_explains_shows_in_the_page_of_differences() -> None:
    page = Page(Path("page.txt"), ["# Remarks."])
    step = Step("ask", ["> EndTxn v5"], api="EndTxn", versions=range(5, 6))
    story = Story("a story", [step])
    difference = Difference(5, "error_code", "NONE", "PRODUCER_FENCED")
    row = "| a story: EndTxn (v5) | `error_code` | `NONE` | `PRODUCER_FENCED` |"
    assert f"{row} **none** |" in tables([page], [Found(page, story, step, [difference])])
    step.decision = "0060"
    assert f"{row} [0060] |" in tables([page], [Found(page, story, step, [difference])])


@pytest.mark.parametrize("line", ["Fetch me something", "< error_code=NONE", "differs: 0060"])
def test_what_is_no_page_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "page.txt"
    path.write_text(f"## a story\n{line}\n")
    with pytest.raises(ValueError, match=rf"page\.txt:2: {line}"):
        read(path)
