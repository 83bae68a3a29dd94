"""`barnabas trace` says in lines what happened, and writes files that Perfetto takes."""

import json
from typing import Any

from barnabas.broker.cli.control.trace.event_stream import events_in
from barnabas.broker.cli.control.trace.perfetto import trace_of
from barnabas.broker.insight.history.lines import line_of

CAUSE = {"request": 7, "api": "EndTxn", "client_id": "me", "peer": "10.0.0.1:5", "correlation_id": 3, "node": 1}


def event(kind: str, at_ms: int = 1_000, cause: dict[str, Any] | None = None, **facts: Any) -> dict[str, Any]:
    return {"number": 1, "at_ms": at_ms, "machine_at_ms": at_ms, "kind": kind, "facts": facts, "cause": cause or {}}


def test_a_line_states_time_event_client_and_reason() -> None:
    told = event("transaction.prepared", 61_005, CAUSE, transactional_id="x", producer_id=4, is_commit=True, group=None)
    assert line_of(told) == (
        "00:01:01.005 transaction.prepared x producer_id=4 is_commit=yes <- EndTxn of me at 10.0.0.1:5 (#7)"
    )
    rolled = event("log.segment_rolled", topic="t", partition=2, base_offset=9)
    assert line_of(rolled) == "00:00:01.000 log.segment_rolled t-2 base_offset=9"
    expired = event("group.session_expired", cause={"timer": "session"}, group="g", member_id="m")
    assert line_of(expired).endswith("group.session_expired g member_id=m <- timer session")
    assert line_of({"lost": 4}) == "… 4 events were missed"


def test_names_that_would_move_the_cursor_are_escaped() -> None:
    assert line_of(event("topic.created", topic="a\x1b[2J b", partitions_count=1)).split("created ")[1] == (
        '"a\\x1b[2J b" partitions_count=1'
    )


def test_a_stream_is_read_event_by_event() -> None:
    told = event("topic.created", topic="t")
    lines = [
        ": the trace\n",
        "\n",
        "id: 1\n",
        "event: topic.created\n",
        f"data: {json.dumps(told)}\n",
        "\n",
        ": still here\n",
        "\n",
        "event: lost\n",
        'data: {"count":3}\n',
        "\n",
    ]
    assert list(events_in(line.encode() for line in lines)) == [told, {"lost": 3}]


STORY = [
    event("producer.id_given", 1_000, CAUSE, transactional_id="x", producer_id=4),
    event("transaction.begun", 1_000, CAUSE, transactional_id="x"),
    event("group.rebalance_begun", 1_010, group="g"),
    event("transaction.prepared", 1_020, CAUSE, transactional_id="x", is_commit=True),
    event("transaction.marker_written", 1_020, transactional_id="x", topic="t", partition=0),
    event("transaction.completed", 1_021, transactional_id="x", is_commit=True),
    event("group.rebalance_completed", 1_030, group="g"),
    event("connection.opened", 1_005, peer="10.0.0.1:5"),
    event("clock.changed", 900, state="frozen"),
    event("transaction.begun", 2_000, transactional_id="y"),
]


def test_a_perfetto_file_keeps_the_rules_of_the_format() -> None:
    """Of the Trace Event Format: phases and their fields, names of processes and threads, nested spans in order."""
    written = json.loads(json.dumps(trace_of(STORY)))["traceEvents"]
    named: set[tuple[str, int, int]] = set()
    open_spans: dict[tuple[int, int], list[str]] = {}
    last_us: dict[tuple[int, int], int] = {}
    for each in written:
        track = each["pid"], each["tid"]
        assert isinstance(each["name"], str)
        assert all(isinstance(number, int) for number in track)
        if each["ph"] == "M":
            assert each["name"] in ("process_name", "thread_name")
            assert isinstance(each["args"]["name"], str)
            named.add((each["name"], *track))
            continue
        assert ("thread_name", *track) in named
        assert ("process_name", each["pid"], 0) in named
        assert each["ts"] >= last_us.get(track, -1)
        last_us[track] = each["ts"]
        spans = open_spans.setdefault(track, [])
        if each["ph"] == "B":
            spans.append(each["name"])
        elif each["ph"] == "E":
            assert spans.pop() == each["name"]
        else:
            assert (each["ph"], each["s"]) == ("i", "t")
    assert not any(open_spans.values())


def test_a_transaction_is_a_span_from_its_first_partition_to_its_completion() -> None:
    written = trace_of(STORY)["traceEvents"]
    track = next(each["tid"] for each in written if each["ph"] == "M" and each["args"]["name"] == "x")
    own = [(each["ph"], each["name"], each["ts"] // 1000) for each in written if each["tid"] == track and "ts" in each]
    assert own == [
        ("i", "producer id_given", 1_000),
        ("B", "transaction", 1_000),
        ("B", "commit", 1_020),
        ("i", "transaction marker_written", 1_020),
        ("i", "transaction completed", 1_021),
        ("E", "commit", 1_021),
        ("E", "transaction", 1_021),
    ]


def test_tracks_are_named_after_what_they_are_of() -> None:
    names = {each["args"]["name"] for each in trace_of(STORY)["traceEvents"] if each["name"] == "thread_name"}
    assert names == {"x", "y", "g", "10.0.0.1:5", "broker"}
