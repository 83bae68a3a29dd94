"""Whether a password is a user's: by PLAIN and by SCRAM, with bounded work, and nothing believed for too long."""

import asyncio
from collections.abc import Callable

import pytest

from barnabas.broker.http import passwords as passwords_module
from barnabas.broker.http.passwords import KNOWN_MAX, Passwords
from barnabas.broker.security.sasl.plain import PlainExchange
from barnabas.protocol.security.scram import SCRAM_SHA_256, ScramCredential, credential_of, salted

SECRET = b"of this run"


def credential(password: str) -> ScramCredential:
    return credential_of(SCRAM_SHA_256, salted(SCRAM_SHA_256, password, b"salt", 4096), b"salt", 4096)


def of_plain(**users: str) -> Passwords:
    return Passwords(lambda: PlainExchange(users.get), [], SECRET)


def of_scram(users: dict[str, ScramCredential]) -> Passwords:
    return Passwords(None, [(SCRAM_SHA_256, users.get)], SECRET)


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that work was done for."""
    done: list[str] = []
    real: Callable[..., ScramCredential] = passwords_module._derived

    def derive(*asked: object) -> ScramCredential:
        done.append(str(asked[1]))
        return real(*asked)

    monkeypatch.setattr(passwords_module, "_derived", derive)
    return done


@pytest.mark.parametrize(
    ("user", "password", "is_right"),
    [
        ("alice", "wonderland", True),
        ("alice", "Wonderland", False),
        ("alice", "", False),
        ("", "wonderland", False),
        ("bob", "wonderland", False),
        ("alice", "wonderland\0", False),
        ("x\0alice", "wonderland", False),
    ],
)
async def test_one_of_plain_and_one_of_scram_is_right_or_not(user: str, password: str, is_right: bool) -> None:
    assert await of_plain(alice="wonderland").is_right(user, password) is is_right
    assert await of_scram({"alice": credential("wonderland")}).is_right(user, password) is is_right


async def test_a_verified_password_is_cached_until_the_credential_changes(derived: list[str]) -> None:
    users = {"alice": credential("first")}
    passwords = of_scram(users)
    assert [await passwords.is_right("alice", "first") for _ in range(3)] == [True] * 3
    assert derived == ["first"]
    users["alice"] = credential("second")
    assert not await passwords.is_right("alice", "first")
    assert await passwords.is_right("alice", "second")
    del users["alice"]
    assert not await passwords.is_right("alice", "second")


async def test_the_same_work_is_done_for_a_user_that_there_is_not(derived: list[str]) -> None:
    assert not await of_scram({}).is_right("nobody", "guess")
    assert derived == ["guess"]


async def test_one_derivation_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = 0, 0
    real = passwords_module._derived

    def derive(*asked: object) -> ScramCredential:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        try:
            return real(*asked)  # type: ignore[arg-type]  # as it was called
        finally:
            at_once -= 1

    monkeypatch.setattr(passwords_module, "_derived", derive)
    passwords = of_scram({"alice": credential("first")})
    await asyncio.gather(*(passwords.is_right("alice", f"guess{number}") for number in range(8)))
    assert most == 1


async def test_so_many_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords_module, "_derived", lambda *_: credential("same"))
    passwords = of_scram({f"user{number}": credential("same") for number in range(KNOWN_MAX + 1)})
    for number in range(KNOWN_MAX + 1):
        assert await passwords.is_right(f"user{number}", "same")
    assert len(passwords._known) <= KNOWN_MAX
