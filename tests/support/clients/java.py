"""Java programs and Kafka's own command-line tools, run for the tests: compiled once, few starts, no build tool.

A start of a JVM costs about half a second of both cores, so a test program does many things in one start.
"""

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.clients.class_archives import archive_jars, archive_options, class_path
from tests.support.kafka.jars import (
    CACHE,
    CLIENT_VERSIONS,
    client_libs,
    fetch_all,
    kafka_libs,
    streams_libs,
    tools_libs,
)
from tests.support.processes.server import ROOT
from tests.support.waiting import PATIENCE_S

_LOG4J = """\
<Configuration status="OFF">
  <Appenders><Console name="out" target="{target}"><PatternLayout pattern="%d %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="{level}"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""
# What makes short programs quick: no second compiler, the simplest collector, the archive of the JDK's own classes.
FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


def prepare() -> None:
    """Have Kafka's jars, and archives of their classes."""
    fetch_all()
    for libs in (kafka_libs(), tools_libs(), streams_libs(), *map(client_libs, CLIENT_VERSIONS)):
        archive_jars(libs, *FAST_START)


@functools.cache
def logging_options(level: str, target: str) -> tuple[str, ...]:
    """The JVM options that make log4j write lines of at least `level` to SYSTEM_OUT or SYSTEM_ERR."""
    path = CACHE / f"log4j2-{level}-{target}.xml"
    _write_once(path, _LOG4J.format(level=level, target=target))
    return (f"-Dlog4j2.configurationFile={path}",)


def run_tool(main_class: str, *arguments: str, stdin: str | None = None, libs: Path | None = None) -> str:
    """What one of Kafka's tools, `org.apache.kafka.tools.TopicCommand` say, prints on stdout; it must succeed."""
    return _run(tool_command(main_class, *arguments, libs=libs), stdin)


def tool_command(main_class: str, *arguments: str, libs: Path | None = None) -> list[str]:
    """The command that runs one of Kafka's tools, for a test that continues while it runs.

    libs: the directory of jars it is in, where those of the tools will not do.
    """
    return _java(libs or tools_libs(), (), main_class, *arguments)


def compiled_plugin(source: Path, directory: Path) -> Path:
    """`directory`, with the classes of `source` in it, a plug-in of the broker."""
    subprocess.run(
        ["javac", "-cp", f"{kafka_libs()}/*", "-d", str(directory), str(source)], check=True, timeout=PATIENCE_S
    )
    return directory


def run_program(source: Path, *arguments: str, stdin: str | None = None) -> str:
    """What the single-file Java program `source` prints on stdout, run with the broker's jars."""
    return _run(program_command(source, *arguments), stdin)


def run_programs(sources: Sequence[Path], main_class: str, *arguments: str) -> str:
    """What a Java program of several files prints on stdout, run with the broker's jars."""
    libs = kafka_libs()
    return _run(_java(libs, [compile_programs(sources, libs)], main_class, *arguments), None)


def program_command(
    source: Path, *arguments: str, client_version: str | None = None, libs: Path | None = None
) -> list[str]:
    """The command that runs the program `source`, for a test that talks with it while it runs.

    libs: the directory of jars to run it with, where neither one client's nor the broker's will do.
    """
    libs = libs or (client_libs(client_version) if client_version else kafka_libs())
    return _java(libs, [compile_program(source, libs)], source.stem, *arguments)


def class_command(libs: Path, main_class: str, *arguments: str) -> list[str]:
    """The command that runs a class from a directory of jars and logs to stdout, which shows how far it is."""
    return _java(libs, (), main_class, *arguments, logging=("INFO", "SYSTEM_OUT"))


def compile_program(source: Path, libs: Path) -> Path:
    """The directory of classes of `source`, compiled against `libs` if that has not been done yet."""
    return compile_programs([source], libs)


def compile_programs(sources: Sequence[Path], libs: Path) -> Path:
    """The same of several files that belong together."""
    text = b"".join(source.read_bytes() for source in sources)
    classes = ROOT / ".cache" / "java" / hashlib.sha256(text + str(libs).encode()).hexdigest()[:16]
    if not classes.is_dir():
        classes.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{classes.name}.", dir=classes.parent))
        command = ["javac", "-proc:none", "-Xlint:none", "-nowarn", "-cp", f"{libs}/*", "-d", str(partial)]
        command += map(str, sources)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{sources} does not compile:\n{done.stdout}{done.stderr}"
        try:
            partial.rename(classes)
        except OSError:  # another thread or process was quicker
            shutil.rmtree(partial)
    return classes


def _java(
    libs: Path,
    more: Sequence[Path],
    main_class: str,
    *arguments: str,
    logging: tuple[str, str] = ("WARN", "SYSTEM_ERR"),
) -> list[str]:
    options = [*FAST_START, *archive_options(libs), *logging_options(*logging), "-cp", class_path(libs, *more)]
    return ["java", "-Xmx256m", *options, main_class, *arguments]


def _run(command: list[str], stdin: str | None) -> str:
    given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **given)
    assert done.returncode == 0, f"{command} failed ({done.returncode}):\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return done.stdout


def _write_once(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text)
    partial.rename(path)
