"""However a run of tests ends, nothing of its brokers is left: no process, no directory."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.embedding.conftest import Project
from tests.support.waiting import until

TESTS = """
import json, os, signal, sys, time
from pathlib import Path
from barnabas.embedded import pool

def test_it(barnabas, barnabas_session, new_barnabas):
    killed = new_barnabas()
    killed.kill()
    facts = {
        "pids": [pool.current().pid, barnabas.pid, barnabas_session.pid],
        "home": str(Path(barnabas.data_dir).parents[1]),
        "own": os.getpid(),
    }
    Path("facts.partial").write_text(json.dumps(facts))
    os.rename("facts.partial", "facts")
    end(barnabas)

def end(barnabas):
"""
ENDS = {
    "passes": ("pass", 0),
    "fails": ("assert False", 1),
    "is interrupted": ("raise KeyboardInterrupt", 2),
    "exits at once": ("os._exit(7)", 7),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "is terminated": ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    "is killed with a child that was forked and lives": (
        "os.fork() or os.execvp('sleep', ['sleep', '1'])\n    os.kill(os.getpid(), signal.SIGKILL)",
        -signal.SIGKILL,
    ),
    "is killed while a child has all its descriptors": (
        "if os.fork() == 0:\n        signal.pause()\n    Path('child').write_text('')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)",
        -signal.SIGKILL,
    ),
}


def is_there(pid: int) -> bool:
    """Whether the process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def facts(project: Project) -> dict[str, object]:
    import json

    found: dict[str, object] = json.loads((project.home / "facts").read_text())
    return found


def check_nothing_is_left(project: Project) -> None:
    told = facts(project)
    pids, home = told["pids"], Path(str(told["home"]))
    assert isinstance(pids, list)
    until(lambda: not any(map(is_there, pids)))
    until(lambda: not home.exists())


@pytest.mark.parametrize(("last", "status"), ENDS.values(), ids=ENDS.keys())
def test_nothing_is_left_when_pytest(project: Project, last: str, status: int) -> None:
    project.write("test_it.py", f"{TESTS}    {last}\n")
    process = project.start("-q")
    try:
        assert process.wait(60) == status
        check_nothing_is_left(project)
    finally:
        os.killpg(process.pid, signal.SIGKILL) if _has_group(process.pid) else None
        process.communicate()


def test_nothing_is_left_when_xdist_is_killed(project: Project) -> None:
    project.write("test_it.py", f"{TESTS}    time.sleep(60)\n")  # it is killed long before
    process = project.start("-q", "-n", "1")
    until(lambda: (project.home / "facts").exists())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with suppress(ProcessLookupError):  # it may have ended by itself when xdist was gone
        os.kill(int(str(facts(project)["own"])), signal.SIGKILL)
    check_nothing_is_left(project)


def test_a_broker_ends_when_its_nursery_and_its_owner_are_killed_at_once(project: Project) -> None:
    kill = "os.kill(pool.current().pid, signal.SIGSTOP); os.kill(os.getpid(), signal.SIGKILL)"
    project.write("test_it.py", f"{TESTS}    {kill}\n")
    project.start("-q").communicate()
    pids = facts(project)["pids"]
    assert isinstance(pids, list)
    nursery, *brokers = pids
    until(lambda: not any(map(is_there, brokers)))
    os.kill(nursery, signal.SIGCONT)
    check_nothing_is_left(project)


def test_a_nursery_that_is_killed_is_replaced(project: Project) -> None:
    project.write(
        "test_it.py",
        """
import os, signal
from barnabas.embedded import pool

def test_first(barnabas):
    os.kill(pool.current().pid, signal.SIGKILL)
    assert barnabas.topics() == {}

def test_second(barnabas):
    assert barnabas.topics() == {}
""",
    )
    project.run()


def _has_group(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True
