"""The chart's objects: valid for Kubernetes, and what follows from the values."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.chart import (
    CHART,
    VERSIONS,
    Object,
    container,
    faults,
    one,
    properties,
    rendered,
    run_helm,
)
from tests.support.source_tree import ROOT

SECURED: Object = {
    "listeners": {"client": {"protocol": "SASL_SSL"}},
    "tls": {"existingSecret": "kafka-tls"},
    "sasl": {"existingSecret": "kafka-users", "client": {"users": ["alice", "bob"]}},
}
NODE_PORT: Object = {"enabled": True, "service": {"type": "NodePort", "domain": "node.example", "nodePorts": [30092]}}
LOGIN: Object = {name: {"name": "scraper", "key": name} for name in ("username", "password")}
TOPICS: list[Object] = [
    {"name": "orders", "partitions": 3, "replicationFactor": 1},
    {"name": "audit", "config": {"cleanup.policy": "compact", "retention.ms": 604800000}},
]
KINDS: dict[str, Object] = {
    "none": {},
    "secure": {"secure": True},
    "secrets": {**SECURED, "listeners": {"client": {"protocol": "SASL_SSL", "sslClientAuth": "requested"}}},
    "TLS": {"listeners": {"client": {"protocol": "SSL"}}, "tls": {"existingSecret": "kafka-tls"}},
    "NodePort": {"externalAccess": NODE_PORT},
    "LoadBalancer": {
        "externalAccess": {
            "enabled": True,
            "service": {"loadBalancerIPs": ["192.0.2.1"], "loadBalancerSourceRanges": ["192.0.2.0/24"]},
        }
    },
    "no metrics": {"metrics": {"enabled": False}},
    "scraped": {"metrics": {"serviceMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "p"}}}},
    "scraped with a login": {**SECURED, "metrics": {"serviceMonitor": {"enabled": True, "basicAuth": LOGIN}}},
    "registry": {"registry": {"enabled": True}},
    "no volume": {"persistence": {"enabled": False}},
    "a volume that exists": {"persistence": {"existingClaim": "old"}},
    "all places": {
        "image": {"registry": "registry.example", "digest": "sha256:" + 64 * "0", "pullSecrets": ["pull"]},
        "clusterId": "5L6g3nShT-eMCtK--X86sw",
        "persistence": {"size": "20Gi", "storageClass": "fast", "labels": {"a": "b"}, "annotations": {"a": "b"}},
        "podLabels": {"a": "b"},
        "podAnnotations": {"a": "b"},
        "commonLabels": {"team": "shop"},
        "commonAnnotations": {"team": "shop"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "serviceAccountName": "kafka",
        "extraEnvVars": [{"name": "TZ", "value": "UTC"}],
        "provisioning": {"topics": TOPICS},
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_kubernetes_accepts_what_is_rendered(kind: str, tmp_path: Path) -> None:
    objects = rendered(KINDS[kind])
    assert {version: faults(objects, version, tmp_path) for version in VERSIONS} == {
        version: [] for version in VERSIONS
    }


def test_a_field_that_kubernetes_does_not_know_is_seen(tmp_path: Path) -> None:
    objects = rendered()
    one(objects, "StatefulSet")["spec"]["replicaz"] = 1
    [fault] = faults(objects, VERSIONS[-1], tmp_path)
    assert "replicaz" in fault


def test_helm_finds_nothing_to_say() -> None:
    done = run_helm("lint", str(CHART), "--strict")
    said = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert (done.returncode, said) == (0, ["[INFO] Chart.yaml: icon is recommended"])


def test_the_chart_has_the_version_of_the_broker() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (project["version"], project["version"])


def test_the_schema_has_every_value_and_no_other() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert _names(values, schema) == schema["properties"].keys() - {"global"}  # which helm itself adds


def _names(values: Object, schema: Object) -> set[str]:
    """The names of the values, where those below each are the ones of the schema."""
    for name, value in values.items():
        below = schema["properties"].get(name, {})
        if isinstance(value, dict) and "properties" in below:
            optional = {"claims"} if name == "resources" else set()
            assert _names(value, below) == below["properties"].keys() - optional, name
    return set(values)


def test_the_file_system_of_the_pod_is_read_only_and_its_user_is_not_root() -> None:
    objects = rendered()
    pod = one(objects, "StatefulSet")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["automountServiceAccountToken"] is False
    context = container(objects)["securityContext"]
    assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
    assert context["capabilities"] == {"drop": ["ALL"]}
    written = {each["mountPath"] for each in container(objects)["volumeMounts"] if not each.get("readOnly")}
    assert written == {"/bitnami/kafka", "/tmp"}


def probe_kinds(values: Object) -> dict[str, Any]:
    probes = {name: each for name, each in container(rendered(values)).items() if name.endswith("Probe")}
    return {
        name: next(each[how] for how in ("httpGet", "exec", "tcpSocket") if how in each)
        for name, each in probes.items()
    }


@pytest.mark.parametrize(("values", "scheme"), [({}, "HTTP"), ({"secure": True}, "HTTPS"), (SECURED, "HTTPS")])
def test_probes_ask_the_http_port(values: Object, scheme: str) -> None:
    live, ready = ({"path": path, "port": "http", "scheme": scheme} for path in ("/live", "/ready"))
    assert probe_kinds(values) == {"startupProbe": live, "readinessProbe": ready, "livenessProbe": live}


def test_without_metrics_the_http_port_stays_inside_the_pod() -> None:
    values = {"metrics": {"enabled": False}}
    check = {"command": ["/etc/kafka/docker/healthcheck"]}
    assert probe_kinds(values) == {"startupProbe": check, "readinessProbe": check, "livenessProbe": {"port": "client"}}
    assert container(rendered(values))["env"] == [{"name": "BARNABAS_HTTP", "value": "127.0.0.1:9404"}]


def test_the_registry_has_a_port_of_the_service_and_asks_for_a_login_where_clients_log_in() -> None:
    values = {"registry": {"enabled": True, "containerPort": 8085}, "service": {"ports": {"registry": 80}}}
    objects = rendered(values)
    assert {"name": "BARNABAS_REGISTRY", "value": "0.0.0.0:8085"} in container(objects)["env"]
    assert {"name": "registry", "containerPort": 8085} in container(objects)["ports"]
    ports = [port for each in objects if each["kind"] == "Service" for port in each["spec"]["ports"]]
    assert [port for port in ports if port["name"] == "registry"] == [
        {"name": "registry", "port": 80, "targetPort": "registry"}
    ]
    assert "--http-secure" not in container(objects)["args"]
    alone = rendered({**SECURED, "registry": {"enabled": True}, "metrics": {"enabled": False}})
    assert "--http-secure" in container(alone)["args"]


def test_a_probe_can_be_left_out() -> None:
    assert probe_kinds({"livenessProbe": {"enabled": False}}).keys() == {"startupProbe", "readinessProbe"}


ADVERTISED = {
    "none": "CLIENT://kafka-barnabas.shop.svc.cluster.local:9092,LOCAL://localhost:9094",
    "NodePort": "CLIENT://kafka-barnabas.shop.svc.cluster.local:9092,EXTERNAL://node.example:30092,LOCAL://localhost:9094",
    "LoadBalancer": "CLIENT://kafka-barnabas.shop.svc.cluster.local:9092,EXTERNAL://192.0.2.1:9095,LOCAL://localhost:9094",
}


@pytest.mark.parametrize("kind", ADVERTISED)
def test_clients_get_the_address_by_which_they_reach_the_broker(kind: str) -> None:
    assert properties(rendered(KINDS[kind]))["advertised.listeners"] == ADVERTISED[kind]


def test_an_ipv6_address_is_advertised_in_brackets() -> None:
    outside = {"enabled": True, "service": {"loadBalancerIPs": ["2001:db8::1"]}}
    listeners = properties(rendered({"externalAccess": outside}))["advertised.listeners"]
    assert "EXTERNAL://[2001:db8::1]:9095" in listeners


def test_numbers_stand_in_the_configuration_as_in_the_values() -> None:
    values = {"overrideConfiguration": {"log.retention.ms": 604800000, "auto.create.topics.enable": False}}
    found = properties(rendered(values))
    assert (found["log.retention.ms"], found["auto.create.topics.enable"]) == ("604800000", "false")


def test_a_changed_configuration_restarts_the_pod() -> None:
    def checksum(values: Object) -> str:
        annotations = one(rendered(values), "StatefulSet")["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/configuration"])

    values: tuple[Object, ...] = (
        {},
        {"overrideConfiguration": {"num.partitions": 2}},
        {"provisioning": {"topics": TOPICS}},
    )
    assert len({checksum(each) for each in values}) == len(values)


def test_a_password_is_in_no_object() -> None:
    """They are read from the mounted secret when the broker starts."""
    assert 'user_alice="${directory:/secrets/sasl:alice}"' in json.dumps(rendered(SECURED)).replace("\\", "")
    assert "SCRAM-SHA-512=[name=bob,passwordfile=/secrets/sasl/bob]" in container(rendered(SECURED))["args"]


def test_prometheus_finds_an_open_port_by_annotations_and_any_by_a_monitor() -> None:
    pod = one(rendered(), "StatefulSet")["spec"]["template"]["metadata"]
    assert (pod["annotations"]["prometheus.io/scrape"], pod["annotations"]["prometheus.io/port"]) == ("true", "9404")
    secured = rendered(KINDS["scraped with a login"])
    pod = one(secured, "StatefulSet")["spec"]["template"]["metadata"]
    assert "prometheus.io/scrape" not in pod["annotations"]
    [endpoint] = one(secured, "ServiceMonitor")["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["scheme"], endpoint["basicAuth"]) == ("http", "https", LOGIN)


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        (
            {},
            ("kafka-barnabas.shop.svc.cluster.local:9092", "statefulset/kafka-barnabas 9094 9404", "http://localhost"),
        ),
        ({"secure": True}, ("https://localhost:9404/console", "cat /bitnami/kafka/data.security/client.properties")),
        ({"externalAccess": NODE_PORT}, ("    node.example:30092\n",)),
    ],
)
def test_an_installation_ends_with_the_addresses_of_the_broker(values: Object, seen: tuple[str, ...]) -> None:
    done = run_helm("install", "kafka", str(CHART), "--namespace", "shop", "--dry-run=client", values=values)
    notes = done.stdout.partition("\nNOTES:\n")[2]
    assert [text for text in seen if text not in notes] == []
