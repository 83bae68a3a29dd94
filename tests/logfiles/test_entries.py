"""Index files that a kill or a power cut left behind."""

from barnabas.logfiles.entries import aborted_txns
from barnabas.protocol.files import txn_index
from barnabas.protocol.files.txn_index import AbortedTxn


def test_a_transaction_index_of_zeros_has_no_entries() -> None:
    for count in (0, 1, 2):
        assert aborted_txns(bytes(count * txn_index.ENTRY_SIZE)) == []


def test_zeros_inside_an_entry_belong_to_it() -> None:
    entry = AbortedTxn(7, 0, 1, 256)
    data = txn_index.encode([entry])
    assert data.endswith(b"\0")
    assert aborted_txns(data + bytes(txn_index.ENTRY_SIZE)) == [entry]
