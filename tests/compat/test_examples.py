"""The examples for users of JUnit, Go and Node.js: run as they stand, each with brokers that it starts itself.

docs/doors has a page for each: what it shows of the example is there, and what it says is seen is printed.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.clients.go import go_example
from tests.support.clients.java import compile_programs
from tests.support.clients.npm import JS, node_of
from tests.support.kafka.jars import KAFKA_VERSION, junit_libs
from tests.support.processes.server import ROOT
from tests.support.waiting import PATIENCE_S

EXAMPLES = ROOT / "examples"
DOORS = ROOT / "docs" / "doors"
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(command: Sequence[str], directory: Path) -> str:
    """What an example prints; it must succeed, with `barnabas` found where these tests have theirs."""
    environment = os.environ | {"BARNABAS": str(ROOT / ".venv" / "bin" / "barnabas")}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def assert_shown(page: str, printed: str, *sources: Path) -> None:
    """The page's fragments stand in the sources, and each line of its last block is printed, in this order."""
    *fragments, (kind, seen) = _FENCED.findall((DOORS / page).read_text(encoding="utf-8"))
    assert fragments
    written = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert [text for _, text in fragments if text not in written] == []
    lines = [".*".join(map(re.escape, line.split("…"))) for line in seen.splitlines()]
    assert kind == ""
    assert re.search(".*".join(lines), printed, re.DOTALL), f"{printed}\n--- instead of\n{seen}"


def test_junits(tmp_path: Path) -> None:
    libs = junit_libs()
    classes = compile_programs(sorted((EXAMPLES / "java").glob("*.java")), libs)
    launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--details=tree", "--disable-banner"]
    path = f"{classes}:{libs}/*"
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, *launcher]
    selected = ["--select-class=OrdersTest", "--select-class=FaultsTest"]
    said = run([*command, *selected, "--disable-ansi-colors"], tmp_path)
    assert "2 tests successful" in said, said
    assert_shown("junit.md", said, EXAMPLES / "java" / "OrdersTest.java", EXAMPLES / "java" / "pom.xml")
    assert f"<version>{KAFKA_VERSION}</version>" in (EXAMPLES / "java" / "pom.xml").read_text(encoding="utf-8")


def test_gos(tmp_path: Path) -> None:
    said = run([str(go_example()), "-test.v"], tmp_path)
    assert said.count("--- PASS: ") == 2
    assert_shown("go.md", said, EXAMPLES / "go" / "barnabas_test.go")


def test_nodes(tmp_path: Path) -> None:
    node = node_of(JS)
    (tmp_path / "node_modules").symlink_to(JS / "node_modules")
    source = EXAMPLES / "node" / "barnabas.test.mjs"
    (tmp_path / source.name).write_text(source.read_text())
    said = run([node, "--test", "--test-reporter=tap", source.name], tmp_path)
    assert "# pass 3" in said
    assert_shown("node.md", said, source)
