"""What `ledger show`, `watch` and `abandon` make of what is seen of a sink."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.client.admin.transactions import TransactionHold, TransactionInfo
from barnabas.protocol.log_records.transaction_states import NO_TIMEOUT_MS
from pyspark_barnabas.cli.changes import changes
from pyspark_barnabas.cli.client_properties import read
from pyspark_barnabas.cli.command_line import main
from pyspark_barnabas.cli.formatting import duration, facts, report
from pyspark_barnabas.cli.plan import plan, signs_of_life
from pyspark_barnabas.cli.sink_state import BatchState, Look, StoredRecord, Written, batches, newer_token, runs
from pyspark_barnabas.commit.identity import RunToken, rescue_run_id
from pyspark_barnabas.commit.ledger import Decided, LedgerRecord, Run, Settled
from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.commit.prepared_state import View

OLD, NEW = RunToken(1, 0), RunToken(1, 1)
FIRST, SECOND = PreparedTransaction("p.1-1.0.10", 20, 0), PreparedTransaction("p.1-1.1.11", 21, 3)
MINUTE_MS = 60_000
NOW_MS = 1_800_000_000_000


def decided(batch_id: int, *transactions: PreparedTransaction, run: RunToken = NEW) -> Decided:
    return Decided("q", batch_id, "r", run, batch_id + 1, transactions, 7, 0, (), None)


RECORDS: tuple[LedgerRecord, ...] = (
    Run("q", "r-old", OLD),
    decided(4, PreparedTransaction("p.1-0.0.3", 19, 0), run=OLD),
    Run("q", "r-new", NEW),
    decided(5, FIRST, SECOND),
)


def info(name: str, producer_id: int, epoch: int = 0) -> TransactionInfo:
    return TransactionInfo(name, "Ongoing", producer_id, epoch, NO_TIMEOUT_MS, NOW_MS - 5 * MINUTE_MS, [("orders", 0)])


def look(*records: LedgerRecord, **seen: object) -> Look:
    stored = tuple(StoredRecord(2 * at, NOW_MS - 4 * MINUTE_MS, each) for at, each in enumerate(records))
    end = 2 * len(records)
    made = Look("p", "__p.ledger", NOW_MS, stored, stable_offset=end, end_offset=end, driver=View("Empty", *NEW))
    return replace(made, **seen)  # type: ignore[arg-type]  # fields of Look, by name


HALF = look(
    *RECORDS,
    listed=(info(FIRST.transactional_id, 20), info("p.1-0.7.9", 30)),
    described={FIRST.transactional_id: View("Ongoing", 20, 0), SECOND.transactional_id: View("CompleteCommit", 21, 3)},
    holds={FIRST.transactional_id: (TransactionHold("orders", 0, 17, 17, 29, 12, 20),)},
)


def test_runs_know_who_fenced_them_and_what_they_decided() -> None:
    first, second = runs(HALF)
    assert (first.batches, first.taken_over_by) == ((4, 4), NEW)
    assert (second.batches, second.taken_over_by) == ((5, 5), None)
    assert newer_token(HALF) is None
    assert newer_token(replace(HALF, driver=View("Empty", 1, 2))) == RunToken(1, 2)


@pytest.mark.parametrize(
    ("state", "becomes"),
    [
        ("Ongoing", BatchState.DECIDED),
        ("PrepareCommit", BatchState.DECIDED),
        ("CompleteCommit", BatchState.FINISHED),
        ("CompleteAbort", BatchState.LOST),
        (None, BatchState.UNKNOWN),
    ],
)
def test_a_batch_is_what_became_of_its_transactions(state: str | None, becomes: BatchState) -> None:
    view = None if state is None else View(state, 20, 0)
    described = {FIRST.transactional_id: view, SECOND.transactional_id: View("CompleteCommit", 21, 3)}
    assert [each.state for each in batches(look(*RECORDS, described=described))] == [BatchState.FINISHED, becomes]


def test_a_settled_ledger_entry_is_finished_for_every_coordinator_state() -> None:
    assert batches(look(*RECORDS, Settled("q", 5, "r", NEW, 7), described={}))[-1].state is BatchState.FINISHED


def test_abandon_commits_what_is_decided_and_aborts_the_rest() -> None:
    todo = plan(HALF)
    assert todo.commit == (FIRST,)
    assert todo.abort == ("p.1-0.7.9",)
    assert (todo.settled, todo.lost, todo.is_ending) == ((), (), False)


def test_abandon_aborts_no_id_of_a_decided_batch_even_if_it_was_used_again() -> None:
    used_again = replace(HALF, listed=(info(FIRST.transactional_id, 20, 1),), described={})
    assert (plan(used_again).commit, plan(used_again).abort) == ((), ())


def test_abandon_settles_what_is_committed_and_names_what_is_lost() -> None:
    both = {
        each.transactional_id: View("CompleteCommit", each.producer_id, each.producer_epoch) for each in (FIRST, SECOND)
    }
    assert [each.batch_id for each in plan(replace(HALF, described=both)).settled] == [5]
    aborted = replace(HALF, described={**both, FIRST.transactional_id: View("CompleteAbort", 20, 0)})
    assert [(each.batch_id, which) for each, which in plan(aborted).lost] == [(5, FIRST)]
    assert plan(aborted).settled == ()


def test_a_quiet_prefix_shows_no_sign_of_life_and_each_sign_is_reported() -> None:
    assert signs_of_life(HALF, HALF, MINUTE_MS) == []
    assert signs_of_life(HALF, HALF, 5 * MINUTE_MS) == ["the ledger was written to 4 min 0 s ago"]
    rows = replace(HALF, written=frozenset({Written(("orders", 0), 20, 8)}))
    more = replace(HALF, written=frozenset({Written(("orders", 0), 20, 9)}))
    for first, second, sign in [
        (rows, more, "rows are being written"),
        (HALF, replace(HALF, end_offset=99), "the ledger grows"),
        (replace(HALF, listed=()), HALF, "transactions are begun"),
        (HALF, replace(HALF, driver=View("Empty", 1, 2)), "the token changes hands"),
    ]:
        assert signs_of_life(first, second, MINUTE_MS) == [sign]
    assert signs_of_life(more, rows, 1) == ["rows are being written"]
    assert signs_of_life(rows, HALF, 1) == []  # one that ended meanwhile


def test_records_of_the_commands_are_no_sign_of_life() -> None:
    rescue = RunToken(1, 2)
    own: list[LedgerRecord] = [
        Run("q", rescue_run_id(rescue), rescue),
        Settled("q", 5, rescue_run_id(rescue), rescue, 1),
    ]
    stored = tuple(StoredRecord(100 + at, NOW_MS - 1, each) for at, each in enumerate(own))
    left = info("p.driver", 1, 2)._replace(start_timestamp_ms=NOW_MS - 1)
    seen = replace(HALF, records=HALF.records + stored, listed=(*HALF.listed, left), driver=View("Ongoing", *rescue))
    assert signs_of_life(seen, seen, MINUTE_MS) == []
    alive = replace(seen, listed=(left._replace(producer_epoch=3),))
    assert signs_of_life(alive, alive, MINUTE_MS) == ["a transaction was begun 1 ms ago"]
    later = StoredRecord(200, NOW_MS - 1, Run("q", "r-newer", RunToken(1, 3)))
    alive = replace(seen, records=(*seen.records, later))
    assert signs_of_life(alive, alive, MINUTE_MS) == ["the ledger was written to 1 ms ago"]


def test_a_run_that_began_behind_a_lost_batch_is_no_sign_of_life_however_often_it_is_started() -> None:
    lost = replace(HALF, described={FIRST.transactional_id: View("CompleteAbort", 20, 0)}, listed=())
    again = [RunToken(1, epoch) for epoch in (2, 3)]
    runs_again = tuple(StoredRecord(100 + at, NOW_MS - 1, Run("q", f"r{at}", each)) for at, each in enumerate(again))
    first = replace(lost, records=lost.records + runs_again[:1], end_offset=101, driver=View("Empty", *again[0]))
    task = info(f"p.{again[1]}.0.0", 40)._replace(start_timestamp_ms=NOW_MS - 1)
    second = replace(
        lost,
        records=lost.records + runs_again,
        end_offset=103,
        driver=View("Empty", *again[1]),
        listed=(task,),
        written=frozenset({Written(("orders", 0), 40, 3)}),
    )
    assert signs_of_life(first, second, MINUTE_MS) == []
    of_another_query = replace(second, records=(*lost.records, runs_again[0]._replace(record=Run("z", "r", again[1]))))
    assert "the ledger was written to 1 ms ago" in signs_of_life(lost, of_another_query, MINUTE_MS)


def test_a_partition_whose_readers_several_transactions_stop_is_told_once() -> None:
    hold = HALF.holds[FIRST.transactional_id]  # type: ignore[index]  # because it is there
    both = replace(HALF, holds={FIRST.transactional_id: hold, "p.1-0.7.9": hold})
    assert sum("readers stop" in line for line in report(both, 1)) == 1


def test_the_report_tells_what_is_open_whom_it_holds_back_and_what_ends_it() -> None:
    text = "\n".join(report(HALF, 1))
    assert "batches (the last 1 of 2 that were read)" in text
    assert "5  decided  7 rows, 2 transactions" in text
    assert "p.1-1.0.10  Ongoing for 5 min 0 s" in text
    assert "part of batch 5, which is decided: it will be committed; no timeout ends it" in text
    assert "orders-0: readers stop at offset 17 of 29" in text
    assert "not part of a decided batch" in text
    assert "no transaction is open under the prefix" in report(look(*RECORDS[:3]), 10)
    assert json.loads(json.dumps(facts(HALF, 10)))["transactions"][1]["decided_batch"] == 5


def test_watching_tells_each_change_once() -> None:
    described = {each.transactional_id: View("CompleteCommit", each.producer_id, 0) for each in (FIRST,)}
    described |= {SECOND.transactional_id: View("CompleteCommit", 21, 3)}
    before = {"p.1-0.0.3": View("CompleteCommit", 19, 0)}
    begun = look(*RECORDS[:3], listed=HALF.listed, described=before)
    done = replace(HALF, listed=(), described=described)
    assert changes(HALF, HALF) == []
    assert [line.split()[0] for line in changes(look(*RECORDS[:2], described=before), begun)] == ["run", "open", "open"]
    assert [line.split()[:3] for line in changes(begun, HALF)] == [["batch", "5", "decided"]]
    assert [line.split()[:2] for line in changes(HALF, done)] == [
        ["batch", "5"],
        ["ended", "p.1-0.7.9,"],
        ["ended", "p.1-1.0.10,"],
    ]


def test_times_are_for_people() -> None:
    assert [duration(ms) for ms in (-3, 412, 48_000, 192_000, 7_500_000)] == [
        "0 ms",
        "412 ms",
        "48 s",
        "3 min 12 s",
        "2 h 5 min",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ledger"], "the following arguments are required: COMMAND"),
        (["ledger", "show"], "the following arguments are required: PREFIX"),
        (["ledger", "show", "p", "--last", "0"], "is not a whole number from 1"),
        (["recover", "p", "--topic", "t", "--settle", "7"], "'7' is not a QUERY_ID:BATCH"),
        (["recover", "p", "--topic", "t", "--settle", "q:7", "--execute"], "not allowed with argument --settle"),
        (["ledger", "show", "p", "--bootstrap-servers", "nowhere:x"], "--bootstrap-servers: not a broker address"),
        (["ledger", "abandon", "p", "--bootstrap-servers", ""], "--bootstrap-servers: no broker address"),
        (["ledger", "abandon", ""], "argument PREFIX: it is empty"),
        (["ledger", "show", "p", "--command-config", "/nowhere/client.properties"], "no such file"),
    ],
)
def test_a_command_that_is_invalid_is_one_line_and_status_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr().err
    assert (ended.value.code, printed.count("\n")) == (2, 1)
    assert sentence in printed


def test_a_file_with_an_empty_address_does_not_mean_the_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("bootstrap.servers=\n")
    with pytest.raises(SystemExit):
        main(["ledger", "abandon", "p", "--command-config", str(path)])
    assert "no broker address" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_one_line_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "show", "p", "--bootstrap-servers", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_of_client_settings_secures_the_connection_and_its_refusals_quote_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hidden";'
    path.write_text(
        "bootstrap.servers=there:9092\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={login}\n"
    )
    found = read(str(path))
    assert found.bootstrap == "there:9092"
    assert found.security is not None
    assert found.security.sasl is not None
    path.write_text(f"security.protocol=NONE\nsasl.jaas.config={login}\n")
    with pytest.raises(ValueError, match=r"security\.protocol") as refused:
        read(str(path))
    assert "hidden" not in str(refused.value)
    named = "org.apache.kafka.common.config.provider.FileConfigProvider"
    provider = f"config.providers=file\nconfig.providers.file.class={named}\n"
    (tmp_path / "secrets").write_text("there=there:9093\n")
    path.write_text(f"{provider}bootstrap.servers=${{file:{tmp_path}/secrets:there}}\n")
    assert read(str(path)).bootstrap == "there:9093"
    path.write_text(f"{provider}ssl.key.password=${{file:{tmp_path}/secrets:nobodys}}\n")
    with pytest.raises(ValueError, match=r"client\.properties: ssl\.key\.password: .*secrets has no key nobodys"):
        read(str(path))
