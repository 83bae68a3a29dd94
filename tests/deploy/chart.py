"""The Helm chart in deploy/helm: rendered by helm, and its objects checked against the schemas of Kubernetes."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.clients.go import helm
from tests.support.source_tree import ROOT
from tests.support.waiting import PATIENCE_S

CHART = ROOT / "deploy" / "helm" / "barnabas"
VERSIONS = ("1.25", "1.37")
"""Of Kubernetes: the oldest that Chart.yaml accepts, and the newest."""
Object = dict[str, Any]


def run_helm(verb: str, *arguments: str, values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of helm, with values on its stdin."""
    return subprocess.run(
        [helm(), verb, *arguments, "--values", "-"],
        input=yaml.safe_dump(dict(values or {})),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def rendered(values: Mapping[str, Any] | None = None) -> list[Object]:
    """The objects of a release `kafka` in the namespace `shop`, which must be rendered."""
    done = run_helm("template", "kafka", str(CHART), "--namespace", "shop", values=values)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def refusal(values: Mapping[str, Any]) -> str:
    """The sentence with which helm refuses the values."""
    done = run_helm("template", "kafka", str(CHART), values=values)
    assert (done.returncode, done.stdout) == (1, "")
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith("Use --debug")]
    return lines[0].partition("): ")[2] if len(lines) == 1 else lines[-1].removeprefix("- ")


def one(objects: list[Object], kind: str, name: str = "kafka-barnabas") -> Object:
    [found] = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def container(objects: list[Object]) -> Object:
    [found] = one(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def properties(objects: list[Object]) -> dict[str, str]:
    """The broker's server.properties."""
    text = one(objects, "ConfigMap", "kafka-barnabas-configuration")["data"]["server.properties"]
    return dict(line.split("=", 1) for line in text.splitlines() if line)


def faults(objects: list[Object], version: str, directory: Path) -> list[str]:
    """What a version of Kubernetes would refuse in the objects. Unknown fields count."""
    path = directory / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    program = ROOT / ".venv-kubernetes" / "bin" / "kubernetes-validate"
    command = [str(program), "--strict", "--quiet", "-k", version, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return [line for line in (done.stdout + done.stderr).splitlines() if "ServiceMonitor" not in line]
