"""A name that is not there is refused with the one that may be meant, wherever it was given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import Barnabas
from tests.support.processes.served import Running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("near") / "d", "--topic", "orders:1") as it:
        yield it


@pytest.fixture
def group(running: Running, offline: Barnabas) -> str:
    words = ("--topic", "orders", "--to-earliest", "--execute", "--bootstrap-server", running.address)
    assert offline("groups", "reset", "readers", *words).status == 0
    return "readers"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("topcis", "topics"),
        ("topics lst", "list"),
        ("topics list --bootsrap-server x", "--bootstrap-server"),
        ("serve --prot 1", "--port"),
        ("serve --feature transaction.verison=2", "transaction.version"),
        ("groups list --state Stabel", "Stable"),
        ("acls add --operation Reed", "Read"),
        ("topics describe ordrs {where}", "orders"),
        ("topics delete ordrs {where}", "orders"),
        ("topics create x --config retention.msx=1 {where}", "retention.ms"),
        ("consume ordrs --partition 0 {where}", "orders"),
        ("groups describe redaers {where}", "readers"),
        ("groups offsets readers --topic ordrs {where}", "orders"),
        ("txn list --state Ongoin {where}", "Ongoing"),
        ("txn find-hanging --topic ordrs {where}", "orders"),
        ("nodes move ordrs --to 1 {where}", "orders"),
        ("configs describe --topic orders retention.msx {where}", "retention.ms"),
        ("configs alter --topic orders --set retention.msx=1 {where}", "retention.ms"),
        ("quotas alter --user x --set producer_bytes_rate=1 {where}", "producer_byte_rate"),
        ("trace --kind grop {http}", "group"),
        ("trace --kind group.member_lef {http}", "group.member_left"),
        ("log clean --now ordrs {http}", "orders"),
    ],
)
def test_a_near_name_is_reported(words: str, meant: str, running: Running, group: str, offline: Barnabas) -> None:
    given = words.format(where=f"--bootstrap-server {running.address}", http=f"--http {running.http}").split()
    status, out, err = offline(*given)
    assert (status > 0, out, err.count("\n")) == (True, "", 1), err
    assert f"id you mean {meant}?" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("why consumer readers ordrs {http}", "There is no topic ordrs (did you mean orders?)."),
        ("why record ordrs:0:0 {http}", "there is no topic ordrs (did you mean orders?)."),
        ("groups reset redaers --topic orders --to-latest {where}", "no group redaers yet: did you mean readers?"),
        ("configs alter --broker-defaults --set log.retention.msx=1 --validate-only {where}", "mean log.retention.ms?"),
        ("doctor --port 0 --set lisetners=x", "key lisetners: ignored: did you mean listeners?"),
    ],
)
def test_a_near_name_is_reported_where_nothing_is_refused(
    words: str, told: str, running: Running, group: str, offline: Barnabas
) -> None:
    given = words.format(where=f"--bootstrap-server {running.address}", http=f"--http {running.http}").split()
    status, out, err = offline(*given)
    assert (status, told in out + err) == (0, True), (out, err)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"match": {"api": "EndTx"}, "do": {"cut": "after"}}, "'EndTx': did you mean EndTxn? api is one of"),
        ({"match": {"api": "EndTxn"}, "do": {"eror": "X"}}, "'eror': did you mean error? do of a request fault"),
        (
            {"match": {"api": "Produce", "position": 1}, "do": {"drop": True}},
            "; position is a fact of a point, and belongs in match next to",
        ),
        ({"match": {"api": "Produce", "drop": True}, "do": {"drop": True}}, "; drop belongs in do"),
        ({"match": {"api": "Produce"}, "do": {"topic": "t"}}, "; topic belongs in match"),
        (
            {"match": {"api": "Produce"}, "do": {"crash": True}},
            "; crash is possible only at a point: name one in match",
        ),
        ({"match": {}, "do": {"drop": True, "times": 2}}, "; times belongs next to match and do"),
        ({"api": "Produce", "do": {"drop": True}}, "; api belongs in match"),
        ({"match": {}, "do": {"drop": True}, "seed": 1}, "; seed belongs to a plan, next to its faults"),
    ],
)
def test_a_key_of_a_fault_is_told_its_place(
    fault: dict[str, object], told: str, running: Running, offline: Barnabas, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(fault))
    status, _, err = offline("faults", "arm", str(plan), "--http", running.http)
    assert (status, told in err) == (2, True), err
