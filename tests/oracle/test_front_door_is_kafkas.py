"""The environment, listeners and their names are read as Apache Kafka reads them: every case is put to both."""

import random
from pathlib import Path

from barnabas.broker.config import BrokerConfig, ConfigError, load_config
from barnabas.broker.config.environment import NOT_KEYS, read_environment
from tests.support.clients.java import run_program

SEPARATOR = "\x1f"
CASES = 400
QUORUM = {  # what Kafka demands of every configuration
    "process.roles": "broker",
    "node.id": "1",
    "controller.quorum.voters": "9@elsewhere:9093",
    "controller.listener.names": "CONTROLLER",
}
NAMES = ("PLAINTEXT", "A", "b", "TC-0")
HOSTS = (
    *("", "localhost", "127.0.0.1", "0.0.0.0", "[::1]", "::1", "[::]", "kafka_1", "host name", "192.168.1.5"),
    "x.y-z",
)
PORTS = ("9092", "9092", "9093", "0", "0", "65535", "http", "")
MAP = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,A:PLAINTEXT,B:PLAINTEXT,tc-0:plaintext"
# There is no other broker that needs an address; and who is told where he came in needs none that is advertised.
INTER_BROKER = "inter.broker.listener.name must be a listener name defined in advertised.listeners"
UNROUTABLE = "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0"


def _addresses(dice: random.Random) -> str:
    count = dice.choice((1, 1, 2, 2, 3))
    comma = dice.choice((",", ", "))
    return comma.join(f"{dice.choice(NAMES)}://{dice.choice(HOSTS)}:{dice.choice(PORTS)}" for _ in range(count))


def _configuration(dice: random.Random) -> dict[str, str]:
    settings = {**QUORUM, "listeners": _addresses(dice), "listener.security.protocol.map": MAP}
    if dice.random() < 0.5:
        settings["advertised.listeners"] = _addresses(dice)
    if dice.random() < 0.3:
        settings["inter.broker.listener.name"] = dice.choice(NAMES)
    if dice.random() < 0.1:
        settings["security.inter.broker.protocol"] = "PLAINTEXT"
    if dice.random() < 0.1:
        settings["listener.security.protocol.map"] = dice.choice(("A:PLAINTEXT", f"{MAP},A:NONSENSE", "A"))
    return settings


def _environment(dice: random.Random) -> dict[str, str]:
    letters = "ABZ9_________.-abz"
    variables = {}
    for _ in range(dice.randint(1, 5)):
        name = dice.choice(("KAFKA_", "KAFKA_", "kafka_", "MYKAFKA_")) + "".join(
            dice.choices(letters, k=dice.randint(1, 14))
        )
        variables[name] = "".join(dice.choices("ab=/:, ", k=dice.randint(0, 8)))
    return variables | {dice.choice(sorted(NOT_KEYS)): "x"}


def _ask(kind: str, cases: list[dict[str, str]]) -> list[str]:
    lines = [SEPARATOR.join([kind, *(f"{key}={value}" for key, value in case.items())]) for case in cases]
    answers = run_program(Path(__file__).with_name("FrontDoor.java"), stdin="\n".join(lines) + "\n")
    return answers.split("\n")[: len(cases)]


def _told(config: BrokerConfig) -> str:
    """Like the program's answer, but for listeners that have no address of their own to tell."""
    listeners = ",".join(f"{each.name}://{each.host}:{each.port}" for each in config.listeners)
    return f"ok {listeners}"


def test_listeners_are_accepted_and_refused_as_kafka_does() -> None:
    dice = random.Random(0)
    cases = [_configuration(dice) for _ in range(CASES)]
    answers = _ask("configuration", cases)
    accepted = 0
    for case, answer in zip(cases, answers, strict=True):
        try:
            ours = _told(load_config(properties="".join(f"{k}={v}\n" for k, v in case.items()).encode()).config)
        except ConfigError as refused:
            ours = f"refused {refused}"
        if "://[::]:" in case.get("advertised.listeners", ""):
            assert ours.startswith("refused"), "of addresses nobody can connect to, Kafka refuses 0.0.0.0 alone"
            continue
        if INTER_BROKER in answer or (UNROUTABLE in answer and "advertised.listeners" not in case):
            continue
        theirs = answer.rpartition(" ")[0] if answer.startswith("ok ") else "refused"
        assert theirs == (ours if ours.startswith("ok ") else "refused"), (case, answer, ours)
        accepted += ours.startswith("ok")
    assert CASES // 20 < accepted < CASES * 19 // 20, "both kinds were tried"


def test_variables_become_keys_as_in_kafkas_image() -> None:
    dice = random.Random(1)
    cases = [_environment(dice) for _ in range(CASES)]
    for case, answer in zip(cases, _ask("environment", cases), strict=True):
        theirs_alone = (
            "jmx.port",
            "log4j.cmd.opts",
            "cluster.id",
            "kraft.cluster.id",
            "enable.kraft",
            "mounted.conf.dir",
            *(f"ssl.{name}" for name in ("keystore.filename", "keystore.credentials", "key.credentials")),
            *("ssl.truststore.filename", "ssl.truststore.credentials"),  # files, of which it makes other keys
        )
        passed_on = {f"{key}=x" for key in theirs_alone}  # the image's broker does not know them; we do not ask it
        theirs = sorted(line for line in answer.split(SEPARATOR) if line and line not in passed_on)
        variables = read_environment(case).variables
        assert sorted(f"{key}={case[variable]}" for key, variable in variables.items()) == theirs, case
