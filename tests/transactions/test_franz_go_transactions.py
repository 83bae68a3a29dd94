"""franz-go's own test of transactions: a chain of groups that copy exactly once, whose members come and go."""

from tests.compat.franz_go import run_franz_go_test
from tests.support.processes.server import Server


def test_records_pass_a_chain_of_transactions_each_once_and_in_order(server: Server) -> None:
    passed = run_franz_go_test("TestTxnEtl", server, 20_000)
    assert {"range", "cooperative-sticky", "cooperative-sticky/static"} <= passed
