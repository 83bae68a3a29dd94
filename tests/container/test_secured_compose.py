"""A secured Kafka's compose file, that of docs/security/cluster.md, in the image: only the image is another."""

from pathlib import Path

from tests.support.certificates import authority
from tests.support.pages.blocks import blocks_of
from tests.support.pages.compose import variables_of
from tests.support.processes.container import Container
from tests.support.processes.server import ROOT
from tests.support.waiting import PATIENCE_S

PAGE = ROOT / "docs" / "security" / "cluster.md"
PASSWORD = "cluster-secret"
PRODUCE = """
import sys
from kafka import KafkaProducer
settings = dict(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", ssl_cafile=sys.argv[1])
settings |= dict(sasl_plain_username="admin", sasl_plain_password="admin-secret")
producer = KafkaProducer(bootstrap_servers="localhost:9092", **settings)
print(producer.send("orders", b"one castle").get(timeout=30).offset)
"""


def test_the_image_starts_with_the_variables_and_files_of_a_secured_kafka(box: Container, tmp_path: Path) -> None:
    files = {block.file_name: block.text for block in blocks_of(PAGE) if block.kind in ("yaml", "text")}
    variables = variables_of(files["compose.yaml"])
    secrets = box.root / "etc/kafka/secrets"
    secrets.mkdir()
    (secrets / "jaas.conf").write_text(files["jaas.conf"])
    authority().issue().write_pkcs12(secrets / variables["KAFKA_SSL_KEYSTORE_FILENAME"], PASSWORD)
    authority().write_pkcs12(secrets / variables["KAFKA_SSL_TRUSTSTORE_FILENAME"], PASSWORD)
    for name in ("KAFKA_SSL_KEYSTORE_CREDENTIALS", "KAFKA_SSL_KEY_CREDENTIALS", "KAFKA_SSL_TRUSTSTORE_CREDENTIALS"):
        (secrets / variables[name]).write_text(f"{PASSWORD}\n")

    running = box.start("/etc/kafka/docker/run", environment=variables)
    ready = running.lines.first(lambda line: line.startswith("barnabas ready "), PATIENCE_S)
    assert ready is not None, running.lines.text()
    trusted = authority().write(tmp_path / "authority.pem")
    assert box.ask_from_outside("-c", PRODUCE, str(trusted)) == "0\n"
    assert PASSWORD not in running.lines.text()
