"""The server of the tools: runs each one's command in this process, and bounds what it says.

The command's output is caught, so that stdout has nothing but the protocol. One command runs at a time, in a thread.
"""

from __future__ import annotations

import functools
import inspect
import io
import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from tempfile import TemporaryFile

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from barnabas.broker.cli.control.mcp.tools import TOOLS, CommandTool, Invocation

ANSWER_CHARACTERS = 20_000
_HTTP_COMMANDS = ("why", "trace", "faults", "clock")
_INSTRUCTIONS = """\
Tools for a running Kafka broker, Barnabas or Apache Kafka. Where a test hangs, call why_hanging first, then the
why_ tool for the consumer, producer, record or group. The tools whose description says that the broker needs --control
work with `barnabas serve --console` or `--control` only. Tools that change a broker are there only if this program was
started with --allow-changes. Each answer ends with the command that a person would type."""

Main = Callable[[Sequence[str]], int]


class BrokerOptions:
    """The options of each command that say where the broker is."""

    def __init__(self, shared: Sequence[str], http: Sequence[str]) -> None:
        self._shared, self._http = list(shared), list(http)

    def words(self, command: str) -> list[str]:
        """Return the options for a command: those of clients, or those of the commands that ask over HTTP."""
        return self._http if command in _HTTP_COMMANDS else self._shared

    def shown(self, command: str) -> list[str]:
        """Return the same without the token."""
        return [word for word in self.words(command) if not word.startswith("--token=")]


def make_server(main: Main, connection: BrokerOptions, version: str, *, allow_changes: bool) -> MCPServer[None]:
    """Return the server. main: runs a command line, and returns its exit status."""
    server: MCPServer[None] = MCPServer("barnabas", instructions=_INSTRUCTIONS, version=version, log_level="WARNING")
    turn = threading.Lock()
    for tool in TOOLS:
        if tool.changes and not allow_changes:
            continue
        hints = ToolAnnotations(read_only_hint=not tool.changes, destructive_hint=tool.changes)
        server.add_tool(_answering(tool, main, connection, turn), tool.name, annotations=hints, structured_output=False)
    return server


def _answering(tool: CommandTool, main: Main, connection: BrokerOptions, turn: threading.Lock) -> Callable[..., str]:
    """Return the function of a tool: with the parameters of its command, it returns what the command printed."""

    @functools.wraps(tool.command_of)
    def answer(**arguments: object) -> str:
        try:
            invocation = tool.command_of(**arguments)
        except ValueError as wrong:
            raise ToolError(str(wrong)) from wrong
        with turn:
            return run_command(main, invocation, connection)

    signature = inspect.signature(tool.command_of, eval_str=True)
    answer.__signature__ = signature.replace(return_annotation=str)  # type: ignore[attr-defined]  # of any function
    answer.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()} | {"return": str}
    return answer


def run_command(main: Main, invocation: Invocation, connection: BrokerOptions) -> str:
    """Return what the command printed, shortened to the limit. Raises ToolError with its sentence if it failed."""
    command, *rest = invocation.words
    words = [command, *_with_options(rest, connection.words(command))]
    out, err, stdin = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO(), sys.stdin
    with TemporaryFile("w+", encoding="utf-8") as given:  # a command may read it by its descriptor
        given.write(invocation.stdin)
        given.seek(0)
        sys.stdin = given
        try:
            with redirect_stdout(out), redirect_stderr(err):
                status = main(words)
        finally:
            sys.stdin = stdin
    printed = out.buffer.getvalue().decode()
    typed = f"$ barnabas {shlex.join([command, *_with_options(rest, connection.shown(command))])}"
    if status != 0:
        raise ToolError(f"{err.getvalue().strip() or printed.strip()}\n{typed}")
    if len(printed) > ANSWER_CHARACTERS:
        left = len(printed) - ANSWER_CHARACTERS
        printed = f"{printed[:ANSWER_CHARACTERS]}\n… {left} more characters: ask for less, or type the command\n"
    return f"{printed.rstrip() or invocation.if_nothing}\n\n{typed}"


def _with_options(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the words with the options before `--`, behind which there are only names."""
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *options, *words[at:]]
