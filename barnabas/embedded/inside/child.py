"""The life of a forked broker: it opens, reports its port, answers calls, and ends with its owner."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any, NoReturn, cast

from barnabas.broker.runtime import log_lines
from barnabas.embedded.channel import HEAD, decode, encode
from barnabas.embedded.inside.host import FORESEEN, Host, open_host
from barnabas.storage.disk.files import raise_descriptor_limit


def run(owner: socket.socket, settings: dict[str, Any], home: str, parent: int | None) -> NoReturn:
    """Run a broker over `home` until the owner, or `parent` (a descriptor, readable when it has ended), is gone."""
    log_lines.configure(settings["log_level"])
    loop = _new_loop()
    asyncio.set_event_loop(loop)
    status = loop.run_until_complete(_live(owner, settings, home, parent))
    os._exit(status)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def _live(owner: socket.socket, settings: dict[str, Any], home: str, parent: int | None) -> int:
    if parent is not None:
        asyncio.get_running_loop().add_reader(parent, os._exit, 1)
    reader, writer = await asyncio.open_unix_connection(sock=owner)
    data_dir = settings["data_dir"] or os.path.join(home, "data")
    try:
        host = await open_host(settings, data_dir, raise_descriptor_limit())
    except FORESEEN as error:
        writer.write(encode(("failed", str(error))))
        await writer.drain()
        return 1
    facts = {"pid": os.getpid(), "ports": host.ports, "home": home, "data_dir": data_dir, "warnings": host.warnings}
    writer.write(encode(("ready", facts)))
    while True:
        try:
            name, arguments = await _question(reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            return 1  # the owner of this broker is gone
        writer.write(encode(await _answer(host, name, arguments)))
        await writer.drain()
        if name == "stop":
            return 0


async def _question(reader: asyncio.StreamReader) -> tuple[str, tuple[Any, ...]]:
    (size,) = HEAD.unpack(await reader.readexactly(HEAD.size))
    name, arguments = cast(tuple[str, tuple[Any, ...]], decode(await reader.readexactly(size)))
    return name, arguments


async def _answer(host: Host, name: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        if name == "stop":
            await host.stop()
            return "done", None
        return "done", await host.answer(name, *arguments)
    except FORESEEN as error:
        return "failed", str(error)
