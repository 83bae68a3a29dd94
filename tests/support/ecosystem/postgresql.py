"""PostgreSQL with one table, started for a test from Debian's package.

It refuses to run as root, so root starts it as the user that the package makes, in a folder that this user can reach.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.ports import unused_port
from tests.support.waiting import PATIENCE_S

_USER = "postgres"
_PROGRAMS = Path("/usr/lib/postgresql")  # a folder for each version, none of them on the PATH
_SETTINGS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "wal_level": "logical", "fsync": "off"}
_TABLE = """\
CREATE TABLE numbers (number int PRIMARY KEY);
CREATE PUBLICATION dbz_publication FOR TABLE numbers;
SELECT pg_create_logical_replication_slot('debezium', 'pgoutput');
"""  # under the names that Debezium looks for; all changes from here on are there to be read


@dataclass(frozen=True)
class NumberTable:
    """The table `numbers` of the PostgreSQL at a port of this machine."""

    place: str

    def write(self, count: int, first: int = 0) -> None:
        """Insert `count` numbers from `first` on, each in a transaction of its own."""
        self.run("\n".join(f"INSERT INTO numbers VALUES ({number});" for number in range(first, first + count)))

    def run(self, statements: str) -> None:
        """Run statements of SQL by psql; one that fails raises."""
        place = ("--host=127.0.0.1", f"--port={self.place}", f"--username={_USER}")
        command = [_program("psql"), *place, "--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1"]
        subprocess.run(command, input=statements, text=True, check=True, timeout=PATIENCE_S)


@contextmanager
def postgresql() -> Iterator[NumberTable]:
    """Start PostgreSQL on a free port with an empty table, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="barnabas-postgresql-") as directory:
        if os.geteuid() == 0:
            shutil.chown(directory, _USER, _USER)
        data, table = f"--pgdata={directory}/data", NumberTable(str(unused_port()))
        _run("initdb", data, f"--username={_USER}", "--auth=trust", "--no-sync", "--no-instructions", "--encoding=UTF8")
        settings = " ".join(f"-c {name}='{value}'" for name, value in (_SETTINGS | {"port": table.place}).items())
        _run("pg_ctl", "start", data, "--wait", f"--options={settings}", f"--log={directory}/log")
        try:
            table.run(_TABLE)
            yield table
        finally:
            _run("pg_ctl", "stop", data, "--mode=immediate")


def _run(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's own programs; root runs it as another user."""
    user = _USER if os.geteuid() == 0 else None
    subprocess.run(
        [_program(program), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        user=user,
        group=user,
        extra_groups=None if user is None else (),
        cwd="/",  # where that user may be
        check=True,
        timeout=PATIENCE_S,
    )


def _program(name: str) -> str:
    """The path of a program of the newest version that is installed."""
    found = sorted(_PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise RuntimeError("PostgreSQL is not installed (Debian: apt install postgresql)")
    return str(found[-1])
