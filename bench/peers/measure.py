"""Measurements of a broker from outside: processor seconds and memory; those of other processes; and running a load."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "bench" / "programs"
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of the process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def rss_mb(pid: int) -> float:
    """Return the resident memory now, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


def held_mb(pid: int) -> float:
    """Return the memory of the process's data, in MB: the difference of two readings is the cost of what was added
    between.

    Of a JVM that is the live data in its heap, counted after a full collection: its resident memory grows with garbage
    until the heap is full.
    """
    if Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        return rss_mb(pid)
    total = _jcmd(pid, "GC.class_histogram").strip().splitlines()[-1].split()
    if total[0] != "Total":
        raise RuntimeError(f"jcmd ends its histogram with {total}")
    return int(total[2]) / (1 << 20)


def _jcmd(pid: int, command: str) -> str:
    done = subprocess.run(["jcmd", str(pid), command], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def busy_seconds() -> float:
    """Return the processor time of the whole machine so far, including the time taken by its host (steal)."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / CLOCK_TICKS


def own_seconds() -> float:
    """Return the processor time of this process and of the load programs that it has run to their end."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def c_program(name: str) -> Path:
    """Return a load generator in C (`blast`, `blast-tls`, `txn`) or the floor, built if its source is newer."""
    source, binary = PROGRAMS / f"{name.removesuffix('-tls')}.c", ROOT / ".cache" / "bench" / name
    newest = max(each.stat().st_mtime for each in (source, PROGRAMS / "wire.h", PROGRAMS / "stream.h"))
    if not binary.exists() or binary.stat().st_mtime < newest:
        binary.parent.mkdir(parents=True, exist_ok=True)
        tls = ["-DWITH_TLS", "-lssl", "-lcrypto"] if name.endswith("-tls") else []
        subprocess.run(["cc", "-O2", "-o", str(binary), str(source), *tls], check=True)
    return binary


def run_json(command: list[str], timeout_s: float = 300) -> dict[str, Any]:
    """Run a load program to its end; its last line of output is its result."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, cwd=ROOT, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def blast(program: str, port: int, topic: str, **options: float | str) -> dict[str, Any]:
    """Run the C load generator; with the option `tls` the one that speaks it."""
    arguments = [
        part
        for name, value in options.items()
        for part in (f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value))
    ]
    built = c_program("blast-tls" if options.get("tls") else "blast")
    return run_json([str(built), program, "--port", str(port), "--topic", topic, *arguments])


def rdkafka(program: str, port: int, topic: str, **options: float | str) -> dict[str, Any]:
    """Run a librdkafka load in its own process."""
    arguments = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    return run_json(
        [sys.executable, "-m", "bench.programs.rdkafka", program, "--port", str(port), "--topic", topic, *arguments]
    )
