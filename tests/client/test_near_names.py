"""Which name may be meant by one that is not there."""

import pytest

from barnabas.client.near_names import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("ordrs", ["payments", "orders"], ["orders"]),
        ("endtx", ["EndTxn", "InitProducerId"], ["EndTxn"]),
        ("ordrs", ["payments"], []),
        ("o" * 121, ["o" * 120], []),
        ("last", [*(f"{number:03}" for number in range(500)), "lasts"], []),
    ],
)
def test_a_near_name_is_found_whatever_its_case_among_so_many(name: str, known: list[str], near: list[str]) -> None:
    assert nearest(name, known) == near
    assert did_you_mean(name, known) == (f": did you mean {near[0]}?" if near else "")
