"""Whoever does not ask for security pays nothing for it: not even an import."""

import subprocess
import sys

UNWANTED = ("client.security", "protocol.security", "protocol.security.stores")
PROGRAM = """
import sys
from barnabas.broker.cli import topics
from barnabas.client.client import Client
from pyspark_barnabas.options import sink
sink({"kafka.bootstrap.servers": "localhost:1", "topic": "t"}).connection.client().close()
print(*sorted(sys.modules))
"""


def test_a_plain_client_imports_no_security() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    imported = done.stdout.split()
    assert "barnabas.client.client" in imported
    unwanted = ("ssl", "cryptography", *(f"barnabas.{name}" for name in UNWANTED))
    assert [name for name in imported if name.startswith(unwanted)] == []
