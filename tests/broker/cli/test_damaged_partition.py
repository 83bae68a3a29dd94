"""A byte of a stopped broker's partition changes, from the next start to its repair."""

from pathlib import Path

from tests.support.command_line import Barnabas
from tests.support.ports import unused_port
from tests.support.processes.broker import BrokerProcess


def test_a_damaged_partition_is_refused_named_and_repaired(offline: Barnabas, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    log = data_dir / "orders-1" / f"{0:020d}.log"
    with BrokerProcess(data_dir) as broker:
        at = ("--bootstrap-server", broker.address)
        assert offline("topics", "create", "orders", "--partitions", "2", *at).status == 0
        for partition in ("0", "1"):
            for value in ("a", "b"):
                path = tmp_path / "value"
                path.write_text(value + "\n")
                assert offline("produce", "orders", "--partition", partition, str(path), *at).status == 0
        broker.stop()
    data = bytearray(log.read_bytes())
    data[-3] ^= 0x10
    log.write_bytes(data)

    said = offline("doctor", "--data-dir", str(data_dir), "--port", str(unused_port()))
    assert said.status == 1
    assert f"orders-1 cannot be opened: {log}: batch at " in said.stdout

    with BrokerProcess(data_dir) as broker:
        at = ("--bootstrap-server", broker.address)
        refused = offline("consume", "orders", "--partition", "1", "--from-beginning", "--exit-at-end", *at)
        assert refused.status == 1
        assert "KAFKA_STORAGE_ERROR" in refused.stderr, "it was asked for again and again"
        whole = offline("consume", "orders", "--partition", "0", "--from-beginning", "--exit-at-end", *at)
        assert (whole.status, whole.stdout.split()) == (0, ["a", "b"])
        broker.stop()
        lines = [line for line in broker.log.splitlines() if "could not open partition" in line]
        assert len(lines) == 1
        assert str(log) in lines[0]
        assert "barnabas log repair" in lines[0]

    assert offline("log", "repair", str(data_dir)).status == 1
    repaired = offline("log", "repair", str(data_dir), "orders-1", "--yes")
    assert (repaired.status, "orders-1: repaired, offsets 0 to 0" in repaired.stdout) == (0, True)
    assert offline("doctor", "--data-dir", str(data_dir), "--port", str(unused_port())).status == 0
    with BrokerProcess(data_dir) as broker:
        at = ("--bootstrap-server", broker.address)
        healed = offline("consume", "orders", "--partition", "1", "--from-beginning", "--exit-at-end", *at)
        assert (healed.status, healed.stdout.split()) == (0, ["a"])
