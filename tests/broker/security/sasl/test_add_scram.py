"""Users of SCRAM as `kafka-storage format --add-scram` spells them."""

import pytest

from barnabas.broker.security.sasl.add_scram import NewUser
from barnabas.broker.security.sasl.add_scram import parse_user as parse_with
from barnabas.protocol.security.scram import SCRAM_SHA_256, SCRAM_SHA_512

FILES = {"/secrets/a": b"of a file\nmore\n", "/secrets/dos": b"of dos\r\n", "/secrets/odd": b"\xff", "/empty": b"\n"}
VARIABLES = {"PASSWORD": "of a variable", "EMPTY": ""}


def read_file(path: str) -> bytes:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory", path)
    return FILES[path]


def parse_user(text: str) -> NewUser:
    return parse_with(text, read_file, VARIABLES)


@pytest.mark.parametrize(
    ("part", "password"),
    [
        ("passwordfile=/secrets/a", "of a file"),
        ('passwordfile="/secrets/dos"', "of dos"),
        ("passwordvariable=PASSWORD", "of a variable"),
    ],
)
def test_a_password_may_be_in_a_file_or_a_variable(part: str, password: str) -> None:
    assert parse_user(f"SCRAM-SHA-256=[name=alice,{part}]").password == password


def test_a_user_has_a_name_and_a_password() -> None:
    found = parse_user('SCRAM-SHA-512=[name=alice,iterations=8192,salt="c2FsdA==",password="a=b"]')
    assert found == (SCRAM_SHA_512, "alice", 8192, b"salt", "a=b", None)
    assert "a=b" not in repr(found)
    assert parse_user("SCRAM-SHA-256=[name=bob,password=x]") == (SCRAM_SHA_256, "bob", 4096, None, "x", None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name=alice,password=hunter2", "begins with SCRAM-SHA-256= or SCRAM-SHA-512="),
        ("SCRAM-SHA-1=[name=alice,password=hunter2]", "begins with"),
        ("SCRAM-SHA-256=name=alice,password=hunter2", "in brackets"),
        ("SCRAM-SHA-256=[name=alice,password=hunter2,x]", "no comma in a value"),
        ("SCRAM-SHA-256=[name=alice,word=hunter2]", "has parts KEY=VALUE"),
        ("SCRAM-SHA-256=[password=hunter2]", "needs a name"),
        ("SCRAM-SHA-256=[name=alice]", "needs a password, a passwordfile"),
        ("SCRAM-SHA-256=[name=alice,password=hunter2,saltedpassword=aa]", "and only one of them"),
        ("SCRAM-SHA-256=[name=alice,password=hunter2,passwordfile=/secrets/a]", "and only one of them"),
        ("SCRAM-SHA-256=[name=alice,passwordfile=/hunter2]", "that cannot be read: No such file"),
        ("SCRAM-SHA-256=[name=alice,passwordfile=/secrets/odd]", "that is not UTF-8"),
        ("SCRAM-SHA-256=[name=alice,passwordfile=/empty]", "has an empty password"),
        ("SCRAM-SHA-256=[name=alice,passwordvariable=EMPTY]", "its variable is not set"),
        ("SCRAM-SHA-256=[name=alice,passwordvariable=hunter2]", "its variable is not set"),
        ("SCRAM-SHA-256=[name=alice,saltedpassword=hunter2]", "needs the salt"),
        ("SCRAM-SHA-256=[name=alice,salt=hunter2,saltedpassword=aGk=]", "has a salt that is not base64"),
        ("SCRAM-SHA-256=[name=alice,password=hunter2,iterations=1]", "has 4096 to 16384 iterations"),
        ("SCRAM-SHA-256=[name=alice,password=hunter2,iterations=many]", "has 4096 to 16384 iterations"),
    ],
)
def test_an_invalid_user_is_refused_without_its_secret(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as told:
        parse_user(text)
    assert "hunter2" not in str(told.value)
