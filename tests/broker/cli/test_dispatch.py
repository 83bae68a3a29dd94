"""Every failure is one line on stderr and an exit status; nothing is imported that a command does not need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.broker.cli import COMMANDS, main
from barnabas.broker.cli.terminal.failures import UsageError, describe
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.storage.errors import StorageError
from tests.support.command_line import Barnabas
from tests.support.ports import unused_port

ALL = (
    "serve, topics, produce, consume, groups, txn, nodes, clock, faults, why, trace, mcp, seed, snapshot, configs, "
    "quotas, acls, doctor, log, handover"
)


def test_no_command_and_an_unknown_one_are_usage_errors(offline: Barnabas) -> None:
    assert offline() == (2, "", f"barnabas: no command given, expected one of: {ALL}\n")
    assert offline("dance")[::2] == (2, f"barnabas: no command 'dance', expected one of: {ALL}\n")


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_names_every_command(offline: Barnabas, word: str) -> None:
    status, out, err = offline(word)
    assert (status, err) == (0, "")
    assert all(f"  {name} " in out for name in COMMANDS)


def test_the_version_is_reported(offline: Barnabas) -> None:
    status, out, _ = offline("--version")
    assert status == 0
    assert out.startswith("barnabas 0.")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(offline: Barnabas, name: str) -> None:
    status, out, err = offline(name, "--help")
    assert (status, err) == (0, "")
    assert f"usage: barnabas {name}" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["topics"], "topics: the following arguments are required: COMMAND (see barnabas topics --help)"),
        (["topics", "dance"], "topics: argument COMMAND: invalid choice: 'dance'"),
        (["topics", "create"], "topics create: the following arguments are required: TOPIC"),
        (["topics", "create", "t", "--partitions", "0"], "topics create: argument --partitions: must be above 0"),
        (["topics", "create", "t", "--partitions", "x"], "argument --partitions: 'x' is not a whole number"),
        (["topics", "create", "t", "--config", "x"], "argument --config: an argument is not KEY=VALUE"),
        (["topics", "list", "--bootstrap-server", ""], "--bootstrap-server: "),
        (["topics", "list", "--bootstrap-server", "h:x"], "--bootstrap-server: not a broker address: 'h:x'"),
        (["produce"], "produce: the following arguments are required: TOPIC"),
        (["produce", "t", "--compression", "rar"], "produce: argument --compression: invalid choice: 'rar'"),
        (["consume", "t", "--offset", "5"], "consume: an --offset by number needs --partition"),
        (
            ["consume", "t", "--offset", "soon"],
            "consume: --offset is earliest, latest or a number, and 'soon' is not a whole number",
        ),
        (["consume", "t", "--group", "g", "--partition", "1"], "consume: a group assigns partitions"),
        (["configs", "describe"], "configs describe: one of the arguments --topic --broker --group --broker-defaults"),
        (["configs", "alter", "--topic", "t"], "configs alter: nothing to do"),
        (["topics", "--foo", "list"], "topics: unrecognized arguments: --foo (see barnabas topics --help)"),
        (["topics", "list", "--foo"], "topics list: unrecognized arguments: --foo (see barnabas topics list --help)"),
        (["txn", "list", "--foo"], "txn list: unrecognized arguments: --foo (see barnabas txn list --help)"),
        (
            ["groups", "list", "x", "--y"],
            "groups list: unrecognized arguments: (a word) --y (see barnabas groups list --help)",
        ),
        (
            ["configs", "describe", "--broker", "1", "--foo"],
            "configs describe: unrecognized arguments: --foo (see barnabas configs describe --help)",
        ),
        (["log", "dump", "--foo", "x"], "log dump: unrecognized arguments: --foo (see barnabas log dump --help)"),
        (["configs", "alter", "--topic", "t", "--sett", "k=secret"], "--sett (did you mean --set?) (a word) (see"),
        (["configs", "alter", "--topic", "t", "--s=secret"], "ambiguous option: --s could match"),
        (["quotas", "alter", "--user", "u", "--set", "k=secret"], "quotas alter: --set k: its value is not a number"),
        (["clock"], "clock: the following arguments are required: COMMAND"),
        (["clock", "advance"], "clock advance: the following arguments are required: TIME"),
        (["clock", "at"], "clock at: the following arguments are required: MOMENT"),
        (["clock", "back"], "clock: argument COMMAND: invalid choice: 'back'"),
        (["clock", "run", "--http", "nowhere"], "--http nowhere is not HOST:PORT"),
        (["clock", "run", "--token", "a\nb"], "clock: --token: "),
        (["why"], "why: the following arguments are required: COMMAND"),
        (["why", "consumer"], "why consumer: the following arguments are required: GROUP"),
        (["why", "record", "t:0"], "why record: 't:0' is not TOPIC:PARTITION:OFFSET, such as orders:0:42"),
        (["why", "record", "t:0:-1"], "why record: 't:0:-1' is not TOPIC:PARTITION:OFFSET"),
        (["why", "group", "g", "--http", "nowhere"], "--http nowhere is not HOST:PORT"),
        (["trace", "--follow", "--perfetto", "f"], "trace: argument --perfetto: not allowed with argument --follow"),
        (["trace", "--limit", "many"], "trace: argument --limit: invalid int value: 'many'"),
        (["faults"], "faults: the following arguments are required: COMMAND"),
        (["faults", "arm"], "faults arm: the following arguments are required: FILE"),
        (["faults", "list", "--http", "nowhere"], "--http nowhere is not HOST:PORT"),
        (["groups", "list", "--state", "Foo"], "--state: there is no state Foo, but PreparingRebalance, "),
        (["groups", "list", "--type", "foo"], "--type: there is no type foo, but classic, consumer, share, streams"),
    ],
)
def test_a_usage_error_is_one_line_and_status_2(offline: Barnabas, arguments: list[str], said: str) -> None:
    status, out, err = offline(*arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("barnabas: ")
    assert said in err
    assert "secret" not in err, "what is not understood may be a password"


@pytest.mark.parametrize(
    "arguments",
    [["topics", "list"], ["consume", "t"], ["produce", "t", os.devnull], ["configs", "describe", "--topic", "t"]],
)
def test_a_missing_listener_is_reported_at_once(offline: Barnabas, arguments: list[str]) -> None:
    address = f"127.0.0.1:{unused_port()}"
    assert offline(*arguments, "--bootstrap-server", address) == (
        1,
        "",
        f"barnabas: cannot connect to {address}: connection refused (is a broker running there?)\n",
    )


@pytest.mark.parametrize(
    "command", [["topics", "list"], ["groups", "list"], ["txn", "list"], ["configs", "describe", "--broker", "1"]]
)
def test_where_to_find_the_cluster_is_reported_before_or_behind_the_command(
    offline: Barnabas, command: list[str]
) -> None:
    address, elsewhere = f"127.0.0.1:{unused_port()}", f"127.0.0.1:{unused_port()}"
    name, *rest = command
    for arguments in (
        [name, "--bootstrap-server", address, *rest],
        [name, *rest, "--bootstrap-server", address],
        [name, "--bootstrap-server", elsewhere, *rest, "--bootstrap-server", address],
    ):
        assert f"cannot connect to {address}: " in offline(*arguments).stderr


def test_a_file_that_is_not_there_is_named(offline: Barnabas, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert offline("produce", "t", missing) == (1, "", f"barnabas: {missing}: no such file or directory\n")


@pytest.mark.parametrize(
    ("error", "sentence", "status"),
    [
        (UsageError("no"), "no", 2),
        (KafkaError(ErrorCode.INVALID_CONFIG, "topic 't': bad"), "INVALID_CONFIG: topic 't': bad", 1),
        (StorageError("/data/x", "no space left on device"), "/data/x: no space left on device", 1),
        (DecodeError("cut"), "cut", 1),
        (PermissionError(13, "Permission denied", "/data"), "/data: permission denied", 1),
        (OSError("plain"), "plain", 1),
    ],
)
def test_every_possible_failure_has_a_sentence(error: Exception, sentence: str, status: int) -> None:
    assert describe(error) == (sentence, status)


def test_our_own_mistakes_keep_their_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe(ZeroDivisionError()) == (None, 1)

    def fail(arguments: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr("barnabas.broker.cli.topics.run", fail)
    with pytest.raises(ZeroDivisionError):
        main(["topics"])


def test_an_interrupt_has_its_own_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("barnabas.broker.cli.topics.run", interrupt)
    assert main(["topics"]) == 130


def test_naming_a_command_imports_no_other() -> None:
    program = """
import sys
before = set(sys.modules)  # what measures coverage has imported something, too
from barnabas.broker.cli import main
main(["--help"])
print(*set(sys.modules) - before)
"""
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "barnabas.broker.cli" in loaded
    assert not {
        "argparse",
        "asyncio",
        "json",
        "barnabas.client",
        "barnabas.storage",
        "barnabas.broker.cli.topics",
    } & set(loaded)
