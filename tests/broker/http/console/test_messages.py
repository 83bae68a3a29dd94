"""The pages of messages over a whole broker in memory."""

import re

import pytest

from barnabas.broker.http.console.queries import records as looking
from barnabas.protocol.records.builder import NewRecord, build_batch
from tests.support.console.world import Console, seen
from tests.support.inspected_broker import Inspected
from tests.support.worlds.broker import settle

MARKUP = b"<script>alert(1)</script>"


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"t": 2})


def append(console: Console, *records: NewRecord) -> None:
    console.world.services.partitions.append("t", 0, build_batch(list(records)))


def offsets(html: str) -> list[int]:
    return [int(each) for each in re.findall(r'records/(\d+)"', html)]


async def test_messages_are_seen_from_an_offset_a_time_or_the_end(console: Console, world: Inspected) -> None:
    for number in range(120):
        append(console, NewRecord(b"k", b"value %d" % number, (), 1_700_000_000_000 + number * 1_000))
    path = "/topics/t/0/messages"
    assert offsets(await console.get(path)) == list(range(70, 120))
    assert offsets(await console.get(path, **{"from": "earliest"})) == list(range(50))
    assert offsets(await console.get(path, **{"from": "100"})) == list(range(100, 120))
    assert offsets(await console.get(path, **{"from": "2023-11-14T22:15:00Z"}))[0] == 100
    assert offsets(await console.get(path, **{"from": "2033-01-01"})) == []
    html = await console.get(path, **{"from": "60"})
    assert 'rel="next" href="/console/topics/t/0/messages?from=110&amp;isolation=read_uncommitted&amp;as=auto"' in html
    assert 'rel="prev" href="/console/topics/t/0/messages?from=10&amp;' in html
    assert "There are no messages" in await console.text("/topics/t/1/messages")
    assert world.services.partitions.get("t", 0).log_end_offset == 120


async def test_read_committed_sees_what_its_readers_see(console: Console, world: Inspected) -> None:
    world.append("t", b"plain")
    lost = await world.begin("lost", ("t", 0))
    await world.end("lost", lost, is_commit=False)
    kept = await world.begin("kept", ("t", 0))
    await world.end("kept", kept, is_commit=True)
    await world.begin("open", ("t", 0))
    path = "/topics/t/0/messages"
    everything = await console.get(path)
    assert offsets(everything) == [0, 1, 2, 3, 4, 5]
    assert re.findall(r'<span class="unseen">(\w+), ', everything) == [
        "plain",
        "aborted",
        "marker",
        "committed",
        "marker",
        "open",
    ]
    assert "endTxnMarker" in everything
    assert offsets(await console.get(path, isolation="read_committed")) == [0, 3]


async def test_a_search_goes_on_where_it_stopped(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_RECORDS_LOOKED_AT_MAX", 40)
    for number in range(100):
        append(console, NewRecord(b"k%d" % number, b"v", [("trace", b"t%d" % number)], 1))
    path = "/topics/t/0/messages"
    html = await console.get(path, q="t77", **{"from": "earliest"})
    assert "None of the 40 records that were examined contains it." in seen(html)
    assert "Search on from offset 40" in seen(html)
    html = await console.get(path, q="t77", **{"from": "40"})
    assert offsets(html) == [77]
    assert offsets(await console.get(path, q="k12", **{"from": "earliest"})) == [12]


async def test_one_record_is_reported_in_every_way(console: Console) -> None:
    append(console, NewRecord(b"\x00\xff", b'{"order": [1]}', [("a<b", MARKUP)], 1_700_000_000_000))
    html = await console.get("/topics/t/0/records/0")
    text = seen(html)
    assert "&#34;order&#34;: [ 1 ]" in text
    assert "00000000 00 ff" in text
    assert "2023-11-14 22:13:20.000" in text
    assert "a&lt;b &lt;script&gt;" in text
    append(console, NewRecord(None, None, (), 1))
    assert "Key null Value null" in await console.text("/topics/t/0/records/1")
    append(console, NewRecord(None, b"x" * 100_000, (), 1))
    assert "100.0 kB, cut" in await console.text("/topics/t/0/records/2")
    assert "there is no record at offset 9" in await console.text("/topics/t/0/records/9", 404)
    assert "there is no record at offset 0 of t-1" in await console.text("/topics/t/1/records/0", 404)


async def test_the_brokers_own_topics_are_decoded(console: Console, world: Inspected) -> None:
    await world.begin("payments", ("t", 0))
    found = [await console.text(f"/topics/__transaction_state/{number}/messages") for number in range(2)]
    text = " ".join(found)
    assert "TransactionLog" in text
    assert "payments" in text
    answer = await console.post("/topics/__transaction_state/0/produce", 400, value="x")
    assert "an internal topic: only the broker writes to it" in answer.text


@pytest.mark.parametrize("form", ["auto", "text", "json", "hex"])
async def test_markup_is_text_in_every_form(console: Console, form: str) -> None:
    append(console, NewRecord(MARKUP, MARKUP, [(MARKUP.decode(), MARKUP)], 1))
    html = await console.get("/topics/t/0/messages", q="<script>", **{"as": form})
    assert offsets(html) == [0]
    assert "<script>" not in html
    assert "<script>" not in await console.get("/topics/t/0/records/0")


async def test_a_record_is_produced_and_shown(console: Console) -> None:
    answer = await console.post("/topics/t/1/produce", 303, key="k", value="<b>grüß dich</b>")
    assert answer.headers["location"] == "/console/topics/t/1/records/0"
    html = await console.get("/topics/t/1/records/0")
    assert "&lt;b&gt;grüß dich&lt;/b&gt;" in html
    await console.post("/topics/t/1/produce", 303, key="k", tombstone="1")
    assert "Value null" in await console.text("/topics/t/1/records/1")
    only_look = Console(console.world, may_change=False)
    await only_look.post("/topics/t/1/produce", 403, value="x")
    assert "<textarea" not in await only_look.get("/topics/t/1/messages")
    assert console.world.services.partitions.get("t", 1).log_end_offset == 2


async def test_a_transaction_stays_open_until_its_button_commits_it(console: Console, world: Inspected) -> None:
    for _ in range(2):  # the second goes on with what the coordinator and the log know of the first
        for value in ("a", "b"):
            answer = await console.post("/topics/t/0/produce", 303, value=value, in_transaction="1")
            assert answer.headers["location"] == "/console/transaction?id=barnabas-console"
        await console.post("/topics/t/1/produce", 303, value="c", in_transaction="1")
        log = world.services.partitions.get("t", 0)
        assert log.high_watermark - log.last_stable_offset == 2
        html = await console.get("/transaction", id="barnabas-console")
        assert "Commit the transaction" in html
        names = ("producer_id", "producer_epoch")
        shown = {name: re.findall(f'name="{name}" value="([^"]*)"', html)[0] for name in names}
        await console.post("/transaction/commit", 303, **shown)
        await settle()
        assert log.high_watermark == log.last_stable_offset
        assert "CompleteCommit" in await console.text("/transaction", id="barnabas-console")
        refused = await console.post("/transaction/commit", 409, **shown)
        assert "has ended: nothing was committed" in refused.text
    assert offsets(await console.get("/topics/t/0/messages", isolation="read_committed")) == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"from": "soon"}, "from is an offset, earliest, end, or a time"),
        ({"from": "-5"}, "from is not between 0 and"),
        ({"isolation": "none"}, "isolation is one of read_uncommitted, read_committed"),
        ({"as": "xml"}, "as is one of auto, text, json, hex"),
    ],
)
async def test_invalid_input_is_one_sentence(
    console: Console, world: Inspected, query: dict[str, str], why: str
) -> None:
    world.append("t", b"x")
    assert why in await console.text("/topics/t/0/messages", 400, **query)


async def test_headers_are_shown_in_each_way_and_no_more_than_a_page_of_them(console: Console) -> None:
    headers = [("json", b'{"a":1}'), ("\udcff", b"no text \xff"), ("none", None), ("large", b"x" * 10_000)]
    append(console, NewRecord(None, b"v", (*headers, *((f"h{number}", b"") for number in range(200))), 1))
    html = await console.get("/topics/t/0/records/0")
    assert "{\n  &#34;a&#34;: 1\n}" in html
    assert "6e 6f 20 74 65 78 74 20 ff" in html
    assert "?" in html.partition('id="headers"')[2]
    assert "10.0 kB, cut" in html
    assert ">h95<" in html
    assert ">h96<" not in html
    assert "104 more headers not shown" in html.replace("\u202f", "")


def places(html: str) -> list[tuple[int, int]]:
    return [(int(partition), int(offset)) for partition, offset in re.findall(r'/t/(\d+)/records/(\d+)"', html)]


async def test_the_messages_of_a_topic_are_shown_newest_first(console: Console, world: Inspected) -> None:
    for number in range(120):
        record = NewRecord(b"k", b"value %d" % number, (), 1_700_000_000_000 + number * 1_000)
        world.services.partitions.append("t", number % 2, build_batch([record]))
    path = "/topics/t/messages"
    assert places(await console.get(path)) == [(number % 2, number // 2) for number in range(119, 69, -1)]
    assert places(await console.get(path, q="value 117")) == [(1, 58)]
    assert "None of the newest messages contains it." in await console.text(path, q="value 1 ")
    assert "there is no topic nowhere" in await console.text("/topics/nowhere/messages", 404)
    part = await console.client.get(f"/console{path}", headers={"x-part": "live"})
    assert "value 119" in part.text
    assert "<form" not in part.text


async def test_the_messages_of_a_topic_are_shown_without_markers_unless_requested(
    console: Console, world: Inspected
) -> None:
    aborted = await world.begin("lost", ("t", 0))
    await world.end("lost", aborted, is_commit=False)
    await world.begin("open", ("t", 1))
    path = "/topics/t/messages"
    assert sorted(places(await console.get(path))) == [(0, 0), (1, 0)]
    assert sorted(places(await console.get(path, markers="shown"))) == [(0, 0), (0, 1), (1, 0)]
    assert "no messages that read_committed sees yet" in await console.text(path, isolation="read_committed")
