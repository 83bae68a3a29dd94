"""Every client reads back what every client wrote, with every compression: bytes, keys, headers, times and offsets."""

from collections.abc import Mapping, Sequence

import pytest

from tests.compat import model
from tests.compat.conftest import ALL
from tests.support.depth import long
from tests.support.processes.server import Server

Clients = Mapping[str, model.Client]
Written = dict[str, list[model.Stored]]
EVERY_FOURTH = 4
"""A reader reads what a fourth of the writers wrote, each writer is read by a fourth of the readers; --long: by all."""
PAIRS = [
    (writer, reader) if (place + other) % EVERY_FOURTH == 0 else long(writer, reader)
    for place, writer in enumerate(ALL)
    for other, reader in enumerate(ALL)
]


@pytest.fixture(scope="module")
def written(server: Server, clients: Clients) -> Written:
    """What each client wrote to the topic of its name, as it must be read; every compression, one after the other."""
    return {name: _write_all(server, clients[name]) for name in ALL}


def _write_all(server: Server, client: model.Client) -> list[model.Stored]:
    everything: list[model.Message] = []
    told: list[int] | None = []
    for compression in model.COMPRESSIONS:
        messages = model.messages_for(client, compression)
        offsets = client.write(server.address, client.name, messages, compression)
        told = None if told is None or offsets is None else [*told, *offsets]
        everything += messages
    stored = model.as_stored(everything)
    if told is not None:
        by_place = {(record.partition, record.offset) for record in stored}
        assert {(m.partition, offset) for m, offset in zip(everything, told, strict=True)} == by_place
    return stored


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_a_client_reads_what_another_wrote(
    server: Server, clients: Clients, written: Written, writer: str, reader: str
) -> None:
    found = model.by_position(clients[reader].read(server.address, writer))
    expected = model.as_read_by(reader, written[writer])
    assert _comparable(model.as_read_by(reader, found), expected) == expected


@pytest.mark.parametrize("reader", ALL)
def test_a_group_reads_what_was_written_and_goes_on_after_it(
    server: Server, clients: Clients, written: Written, reader: str
) -> None:
    client, topic, group = clients[reader], f"{reader}-for-a-group", f"group-of-{reader}"
    first = model.messages_for(client, "gzip", count=30)
    client.write(server.address, topic, first, "gzip")
    found = client.read_in_group(server.address, topic, group, len(first))
    expected = model.as_read_by(reader, model.as_stored(first))
    assert _comparable(model.as_read_by(reader, model.by_position(found)), expected) == expected
    more = [model.Message(partition=1, key=b"k", value=b"one more", timestamp=first[0].timestamp)]
    client.write(server.address, topic, more, "none")
    again = client.read_in_group(server.address, topic, group, 1)
    assert [(record.partition, record.offset, record.value) for record in again] == [(1, 10, b"one more")]


def _comparable(found: Sequence[model.Stored], expected: Sequence[model.Stored]) -> list[model.Stored]:
    """`found` with the times that the writer's own clock gave replaced by -1, as `expected` has them."""
    open_times = bool(expected) and expected[0].timestamp == -1
    assert all(record.timestamp > 1_600_000_000_000 for record in found)
    return [record._replace(timestamp=-1) if open_times else record for record in found]
