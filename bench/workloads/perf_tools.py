"""Load from Kafka's own performance tools: the unmodified Java client, each run in a separate JVM with its
default options.
"""

import re
import subprocess
from typing import Any

from tests.support.kafka.jars import tools_libs

_SENT = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\).* ([\d.]+) ms 99th,", re.MULTILINE)
_MIB = 1.048576  # the tools say MB and mean MiB


def _run(tool: str, *arguments: str) -> str:
    command = ["java", "-Xmx512m", "-cp", f"{tools_libs()}/*", f"org.apache.kafka.tools.{tool}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"{tool} failed with {done.returncode}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def produce(port: int, topic: str, *, count: int, size: int) -> dict[str, Any]:
    """Run ProducerPerformance: `count` records of `size` bytes as fast as possible, the JVM's own warming included."""
    output = _run(
        "ProducerPerformance",
        *("--topic", topic, "--num-records", str(count), "--record-size", str(size), "--throughput", "-1"),
        *("--producer-props", f"bootstrap.servers=127.0.0.1:{port}"),
    )
    sent, per_second, mib_per_second, p99_ms = _SENT.findall(output)[-1]
    return {
        "messages": int(sent),
        "megabytes": int(sent) * size / 1e6,
        "per_second": float(per_second),
        "mb_per_second": float(mib_per_second) * _MIB,
        "p99_ms": float(p99_ms),
    }


def consume(port: int, topic: str, *, count: int) -> dict[str, Any]:
    """Run ConsumerPerformance: `count` records from the beginning; its column of the time spent fetching is used."""
    output = _run(
        "ConsumerPerformance",
        *("--bootstrap-server", f"127.0.0.1:{port}", "--topic", topic, "--num-records", str(count)),
        *("--timeout", "30000"),
    )
    header, row = [line for line in output.splitlines() if "," in line][-2:]
    found = dict(zip((name.strip() for name in header.split(",")), row.split(","), strict=True))
    return {"tool_mb_per_second": float(found["fetch.MB.sec"]) * _MIB}
