"""Every key is documented, and every one with an effect is read."""

from pathlib import Path

import pytest

from barnabas.broker.config.definitions.ignored_keys import ACCEPTED
from barnabas.broker.config.definitions.keys import KEYS
from barnabas.broker.config.reference.descriptions import documentation
from barnabas.broker.config.resources.group_configs import GROUP_KEYS
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("name", [*KEYS, *TOPIC_KEYS, *ACCEPTED])
def test_the_key_is_documented(name: str) -> None:
    assert documentation(name)


def test_there_are_no_texts_of_keys_that_do_not_exist() -> None:
    from barnabas.broker.config.reference import descriptions

    assert descriptions._TEXTS.keys() == KEYS.keys() | TOPIC_KEYS.keys()
    assert not KEYS.keys() & ACCEPTED.keys()


def test_every_key_with_an_effect_is_read_somewhere() -> None:
    tables = {"keys.py", "descriptions.py"}
    sources = [path.read_text() for path in (ROOT / "broker").rglob("*.py") if path.name not in tables]
    of_groups = {name for key in GROUP_KEYS.values() for name in (key.inherits, key.low, key.high)}
    assert [name for name in KEYS if name not in of_groups and not any(f'"{name}"' in text for text in sources)] == []
