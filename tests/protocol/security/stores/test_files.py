"""The files of a store: how much of one is read, and how OpenSSL gets a private key."""

import errno
import os
import ssl
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from barnabas.protocol.security.stores import files
from barnabas.protocol.security.stores.identity import Identity
from barnabas.protocol.security.stores.pem import identity
from tests.support.certificates import Issued, authority


@pytest.fixture(scope="module")
def issued() -> Issued:
    return authority().issue()


def identity_of(issued: Issued, password: str | None = None) -> Identity:
    return identity(issued.key_pem(password), "key", issued.certificate_pem, "chain", password)


def loaded_from(found: Identity, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where the context read the key from, while it could: nobody else may."""
    seen: list[Path] = []
    loading = ssl.SSLContext.load_cert_chain

    def spy(context: ssl.SSLContext, path: str, **arguments: object) -> None:
        assert not stat.S_IMODE(os.stat(path).st_mode) & 0o077 or path.startswith("/proc/self/fd/")
        seen.append(Path(path))
        loading(context, path, **arguments)  # type: ignore[arg-type]  # as it was called

    with monkeypatch.context() as patch:
        patch.setattr(ssl.SSLContext, "load_cert_chain", spy)
        files.load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), found)
    return seen


@pytest.mark.skipif(sys.platform != "linux", reason="memory files are Linux's")
def test_a_key_is_given_in_memory(issued: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (path,) = loaded_from(identity_of(issued), monkeypatch)
    assert path.parent == Path("/proc/self/fd")
    assert not path.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lacking", ["memory files", "descriptors"])
def test_without_memory_files_a_key_is_in_a_file_of_the_users_own_and_gone_at_once(
    issued: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "memory files":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    else:
        monkeypatch.setattr(files, "_DESCRIPTORS", str(tmp_path / "not-mounted"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (path,) = loaded_from(identity_of(issued), monkeypatch)
    assert path.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_an_encrypted_key_is_opened_by_its_password_without_a_prompt(
    issued: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(loaded_from(identity_of(issued, "the-password"), monkeypatch)) == 1
    locked = identity_of(issued, "the-password")
    for password in (None, "another"):
        wrong = Identity(locked.key_pem, password, locked.chain)
        with pytest.raises((ssl.SSLError, ValueError)):
            files.load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), wrong)


def test_no_more_is_read_than_a_store_can_have(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with path.open("wb") as file:
        file.truncate(files.STORE_BYTES_MAX)
    assert len(files.read_file(str(path))) == files.STORE_BYTES_MAX
    with path.open("ab") as file:
        file.write(b"!")
    with pytest.raises(OSError, match="large") as refused:
        files.read_file(str(path))
    assert refused.value.errno == errno.EFBIG
