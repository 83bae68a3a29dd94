"""Plays a story to a server and notes the answers."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass

from barnabas.protocol.registry import ApiKey, request_codec, spec
from tests.support.probes.compare import differences
from tests.support.probes.names import Names, Unknown
from tests.support.probes.notation import node_of, struct_of, token_node, token_of
from tests.support.probes.page import Answer, Step, Story
from tests.support.probes.tree import Node
from tests.support.probes.wire import CLOSED, CLOSED_LATE, SILENT, Wire, decoded, frame, framed
from tests.support.waiting import until

PATIENCE_S = 8.0  # so long an answer may take
SILENCE_S = 0.5  # so long none must come where none is expected
UNTIL_S = 10.0
WINDOW = 256  # requests in flight at once, where one is repeated many times
API_KEYS = {key.api_name: key for key in ApiKey}
_READS = ("Describe", "List", "Metadata")  # how the names of APIs begin that change nothing


@dataclass(frozen=True)
class _Due:
    """An answer that is still to come. `label`: the version, where one request is sent in several."""

    key: ApiKey | None
    version: int
    label: int | str | None
    is_token: bool = False


class Player:
    """The teller of a page to the server at a port of this machine.

    enter: makes the connection of a user named by `by`; delay_s: for how long the server delays its answers
    of a failed authentication, where that is looked at; lags: whether the server may answer a change before it can
    be read, as Kafka does, so that a reading request is repeated until its answer is the recorded one.
    """

    def __init__(
        self, port: int, names: Names, enter: Callable[[str], Wire], delay_s: float = 0.0, *, lags: bool = False
    ) -> None:
        self._port = port
        self._names = names
        self._enter = enter
        self._delay_s = delay_s
        self._lags = lags

    def tell(self, story: Story, *, is_recorded: bool) -> list[list[Answer]]:
        """The answers to each step. `is_recorded`: the steps have Kafka's answers, and so show where to expect none."""
        with ExitStack() as opened:
            self._names.begin_story()
            talk = _Talk(self._port, self._names, self._enter, opened, is_recorded, self._delay_s)
            take = talk.take_when_readable if self._lags else talk.take
            return [list(take(step)) for step in story.steps]


class _Talk:
    """The connections of one story."""

    def __init__(
        self,
        port: int,
        names: Names,
        enter: Callable[[str], Wire],
        opened: ExitStack,
        is_recorded: bool,
        delay_s: float,
    ) -> None:
        self._port = port
        self._names = names
        self._enter = enter
        self._opened = opened
        self._is_recorded = is_recorded
        self._delay_s = delay_s
        self._wires: dict[str, Wire] = {}
        self._due: dict[str, list[_Due]] = {}
        self._sent_s: dict[str, float] = {}  # since when an answer may come
        self._held: dict[str, bytes] = {}  # what goes out in one piece with the next request
        self._timeout_s = PATIENCE_S

    def take_when_readable(self, step: Step) -> list[Answer]:
        """Take a step; repeat a request that only reads until its answer is the recorded one."""
        answers = list(self.take(step))
        is_read = step.kind == "ask" and step.api.startswith(_READS) and step.is_awaited and not step.until
        if not is_read or not all(isinstance(each.content, Node) for each in [*answers, *step.answers]):
            return answers

        def is_recorded() -> bool:
            answers[:] = self.take(step)
            return not any(differences(step.answers, answers))

        if any(differences(step.answers, answers)):
            with suppress(AssertionError):  # what never comes is a difference, which the answer shows
                until(is_recorded, UNTIL_S)
        return answers

    def take(self, step: Step) -> Iterator[Answer]:
        was_silent = any(answer.content == SILENT for answer in step.answers)
        expects_silence = self._is_recorded and was_silent and not step.decision
        self._timeout_s = SILENCE_S if expects_silence else PATIENCE_S
        if step.kind == "ask":
            try:
                yield from self._ask_each(step) if step.askers else self._ask(step)
            except Unknown as reason:
                yield Answer(None, f"not asked: {reason}")
            return
        if step.kind == "send":
            key = API_KEYS[step.api] if step.api else None
            self._put(step.connection, step.data)
            self._due.setdefault(step.connection, []).append(_Due(key, step.versions.start, None))
        elif step.kind == "token":
            self._put(step.connection, framed(token_of(step.request, self._names)))
            self._due.setdefault(step.connection, []).append(_Due(None, 0, None, is_token=True))
        elif step.kind == "listen":
            if step.connection not in self._wires:
                return
            self._due.setdefault(step.connection, []).append(_Due(None, 0, None))
        elif step.kind == "end":
            self._wire(step.connection).end()
            self._due.setdefault(step.connection, []).append(_Due(None, 0, None))
        yield from self._answers(step.connection)

    def _ask(self, step: Step) -> Iterator[Answer]:
        for version in step.versions:
            if step.until:
                yield from self._ask_until(step, version)
                continue
            if step.times > 1:
                self._ask_many(step, version, step.times - 1)
            self._send(step, version)
            if step.is_awaited:
                yield from self._answers(step.connection)

    def _ask_each(self, step: Step) -> Iterator[Answer]:
        """Several users ask, each on a connection that is theirs for the whole story."""
        (version,) = step.versions
        key = API_KEYS[step.api]
        for asker in step.askers:
            connection = f"{step.connection}:{asker}"
            data, is_answered = self._frame(key, step, version)
            if connection not in self._wires:
                self._wires[connection] = self._opened.enter_context(self._enter(asker))
            self._put(connection, data)
            assert is_answered, "without an answer, whether it was allowed is unknown"
            self._due.setdefault(connection, []).append(_Due(key, version, asker))
            yield from self._answers(connection)

    def _ask_many(self, step: Step, version: int, times: int) -> None:
        """Ask in pieces of many requests, and pass over the answers."""
        key = API_KEYS[step.api]
        data = self._frame(key, step, version)[0]
        wire = self._wire(step.connection)
        for done in range(0, times, WINDOW):
            count = min(WINDOW, times - done)
            wire.send(data * count)
            for _ in range(count):
                wire.receive(self._timeout_s)

    def _ask_until(self, step: Step, version: int) -> list[Answer]:
        answers: list[Answer] = []
        wanted, unwanted = step.until.removeprefix("not "), step.until.startswith("not ")

        def is_there() -> bool:
            self._send(step, version)
            answers[:] = self._answers(step.connection)
            return (wanted in answers[-1].text) != unwanted

        with suppress(AssertionError) if self._is_recorded else nullcontext():
            until(is_there, UNTIL_S)  # what never comes is a difference, which the answer shows
        return answers

    def _send(self, step: Step, version: int) -> None:
        key = API_KEYS[step.api]
        data, is_answered = self._frame(key, step, version)
        data = self._held.pop(step.connection, b"") + data
        if step.is_awaited:
            self._put(step.connection, data)
        else:
            self._held[step.connection] = data
        if is_answered:
            label = version if len(step.versions) > 1 else None
            self._due.setdefault(step.connection, []).append(_Due(key, version, label))

    def _frame(self, key: ApiKey, step: Step, version: int) -> tuple[bytes, bool]:
        """The bytes of the request, and whether it will be answered."""
        request = struct_of(step.request, spec(key).request, version, self._names)
        is_answered = key is not ApiKey.PRODUCE or request.acks != 0
        return frame(key, version, request_codec(key, version).encode(request)), is_answered

    def _answers(self, connection: str) -> Iterator[Answer]:
        """What is due on a connection. One that is closed, or owes an answer, is not used again."""
        if connection in self._held:
            self._put(connection, self._held.pop(connection))
        due, self._due[connection] = self._due.get(connection, []), []
        begin = self._sent_s.pop(connection, time.monotonic())
        for each in due:
            payload = self._wire(connection).receive(self._timeout_s)
            is_late = 0 < self._delay_s <= time.monotonic() - begin
            if isinstance(payload, str):
                yield Answer(each.label, CLOSED_LATE if is_late and payload == CLOSED else payload)
                if payload == CLOSED or each.key is not None:
                    del self._wires[connection]
                    return
            elif each.is_token:
                yield Answer(None, token_node(payload, self._names))
            elif each.key is None:
                yield Answer(each.label, f"0x{payload.hex()}")
            else:
                response = decoded(each.key, each.version, payload)
                node = node_of(response, each.version, self._names)
                yield Answer(each.label, Node({"late": "true"} | node.fields, node.rows) if is_late else node)
            begin = time.monotonic()

    def _put(self, connection: str, data: bytes) -> None:
        wire = self._wire(connection)
        self._sent_s[connection] = time.monotonic()  # before it is sent, as the broker may begin before we continue
        wire.send(data)

    def _wire(self, connection: str) -> Wire:
        if connection not in self._wires:
            self._wires[connection] = self._opened.enter_context(Wire(self._port))
        return self._wires[connection]
