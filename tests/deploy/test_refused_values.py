"""Values that contradict each other are refused with a sentence, and those of a wrong form by the schema."""

from typing import Any

import pytest

from tests.deploy.chart import refusal
from tests.deploy.test_chart import NODE_PORT, SECURED

TLS = {"existingSecret": "kafka-tls"}
SASL = {"existingSecret": "kafka-users", "client": {"users": ["alice"]}}


def client(protocol: str, auth: str = "none") -> dict[str, Any]:
    return {"client": {"protocol": protocol, "sslClientAuth": auth}}


def outside(**service: Any) -> dict[str, Any]:
    return {"externalAccess": {"enabled": True, "service": service}}


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"replicaCount": 3}, "replicaCount is 3, but Barnabas is one node and does not replicate: set it to 1."),
    (
        {
            "registry": {"enabled": True},
            "metrics": {"enabled": False},
            "listeners": client("SASL_PLAINTEXT"),
            "sasl": SASL,
        },
        "Clients have to log in, but without a TLS listener the schema registry is open: set registry.enabled to "
        "false, or use SASL_SSL.",
    ),
    (
        {
            "registry": {"enabled": True},
            "metrics": {"enabled": False},
            "listeners": client("SSL", "required"),
            "tls": TLS,
        },
        "Clients need a certificate, but without users the schema registry is open: set registry.enabled to false, "
        "or use SASL_SSL.",
    ),
    (
        {"persistence": {"enabled": False, "size": "1Gi"}},
        "persistence.enabled is false, but persistence.size describes a volume: remove one of them.",
    ),
    (
        {"persistence": {"enabled": False, "existingClaim": "old"}},
        "persistence.enabled is false, but persistence.existingClaim names a volume: remove one of them.",
    ),
    (
        {"persistence": {"storageClass": "fast", "existingClaim": "old"}},
        "persistence.existingClaim names a volume that exists, but persistence.storageClass describes a new one: "
        "remove one of them.",
    ),
    (
        {"listeners": client("SASL_SSL"), "sasl": SASL},
        "A listener has the protocol SASL_SSL, but tls.existingSecret names no secret with tls.crt and tls.key.",
    ),
    (
        {"listeners": client("SASL_SSL"), "tls": TLS},
        "A listener has the protocol SASL_SSL, but sasl.existingSecret names no secret with the users' passwords.",
    ),
    (
        {"listeners": client("SASL_PLAINTEXT"), "sasl": {"existingSecret": "kafka-users"}},
        "A listener has the protocol SASL_PLAINTEXT, but sasl.client.users is empty, so that no client could log in.",
    ),
    (
        {"tls": TLS},
        "tls.existingSecret is set, but no listener has the protocol SSL or SASL_SSL: set listeners.client.protocol.",
    ),
    (
        {"sasl": SASL},
        "sasl.existingSecret or sasl.client.users is set, but no listener has the protocol SASL_SSL or SASL_PLAINTEXT: "
        "set listeners.client.protocol.",
    ),
    (
        {"listeners": client("PLAINTEXT", "required")},
        "listeners.client.sslClientAuth is required, but the protocol PLAINTEXT has no certificates.",
    ),
    (
        {"listeners": client("SSL", "required"), "tls": TLS},
        "listeners.client.sslClientAuth is required, but the kubelet's probes of the HTTP port have no certificate: "
        "set metrics.enabled to false.",
    ),
    (
        {"secure": True, "listeners": client("SASL_SSL")},
        "secure is true and makes every listener SASL_SSL, but a listener has a protocol of its own: "
        "remove one of them.",
    ),
    (
        {"secure": True, "sasl": SASL},
        "secure is true, so the broker makes its certificate and users itself, but tls or sasl names a secret or "
        "users: remove one of them.",
    ),
    (
        {"secure": True, "persistence": {"enabled": False}},
        "secure is true, but persistence.enabled is false, so that each start would make another authority and other "
        "passwords: use a volume, or secrets of your own.",
    ),
    (
        {"secure": True, "podSecurityContext": {"fsGroupChangePolicy": "Always"}},
        "secure is true, but podSecurityContext.fsGroupChangePolicy is not OnRootMismatch, so that others could write "
        "the broker's key after a restart.",
    ),
    (
        {"externalAccess": {"service": {"domain": "kafka.example"}}},
        "externalAccess.enabled is false, but externalAccess.service has an address: remove one of them.",
    ),
    (
        outside(),
        "externalAccess.enabled is true, but externalAccess.service.domain does not say by which host clients reach "
        "the broker.",
    ),
    (
        outside(type="NodePort", domain="node.example"),
        "externalAccess.service.type is NodePort, but externalAccess.service.nodePorts does not say which port clients "
        "get: set one of 30000 to 32767.",
    ),
    (
        outside(type="NodePort", loadBalancerIPs=["192.0.2.1"]),
        "externalAccess.service.loadBalancerIPs is set, but the type is NodePort: set externalAccess.service.domain to "
        "the address of a node.",
    ),
    (
        outside(domain="kafka.example", loadBalancerIPs=["192.0.2.1"]),
        "externalAccess.service has a domain and loadBalancerIPs, but clients get one address: remove one of them.",
    ),
    (
        outside(domain="kafka.example", nodePorts=[30092]),
        "externalAccess.service.nodePorts is set, but the type is LoadBalancer: remove one of them.",
    ),
    (
        {"listeners": {"external": {"protocol": "SSL"}}, "externalAccess": NODE_PORT},
        "A listener has the protocol SSL, but tls.existingSecret names no secret with tls.crt and tls.key.",
    ),
    (
        {"listeners": {"local": {"containerPort": 9092}}},
        "Two of the container ports of listeners, metrics and registry are the same: change one of them.",
    ),
    (
        {"listeners": client("SASL_PLAINTEXT"), "sasl": SASL},
        "Clients have to log in, but without a TLS listener the HTTP port, which shows records, is open: set "
        "metrics.enabled to false, or use SASL_SSL.",
    ),
    (
        {"metrics": {"enabled": False, "serviceMonitor": {"enabled": True}}},
        "metrics.serviceMonitor.enabled is true, but metrics.enabled is false, so that nothing can be scraped.",
    ),
    (
        {**SECURED, "metrics": {"serviceMonitor": {"enabled": True}}},
        "The HTTP port requires a login, but metrics.serviceMonitor.basicAuth names no secret with a user and a "
        "password.",
    ),
    (
        {"provisioning": {"topics": [{"name": "orders"}, {"name": "audit"}, {"name": "orders"}]}},
        "provisioning.topics has the topic orders twice.",
    ),
    (
        {"provisioning": {"topics": [{"name": "orders", "replicationFactor": 3}]}},
        "provisioning.topics wants 3 replicas of orders, but Barnabas is one node: remove replicationFactor.",
    ),
    (
        {"overrideConfiguration": {"log.dirs": "/data"}},
        "overrideConfiguration sets log.dirs, which follows from other values of the chart: remove it there.",
    ),
]
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"replicas": 1}, "at '': additional properties 'replicas' not allowed"),
    (
        {"listeners": client("TLS")},
        "at '/listeners/client/protocol': value must be one of 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'",
    ),
    ({"service": {"ports": {"client": 70000}}}, "at '/service/ports/client': maximum: got 70,000, want 65,535"),
    ({"provisioning": {"topics": [{}]}}, "at '/provisioning/topics/0': missing property 'name'"),
]


@pytest.mark.parametrize(("values", "sentence"), CONTRADICTIONS, ids=[each[:60] for _, each in CONTRADICTIONS])
def test_values_that_contradict_each_other_are_one_sentence(values: dict[str, Any], sentence: str) -> None:
    assert refusal(values) == sentence


@pytest.mark.parametrize(("values", "sentence"), MISTAKES, ids=[each[:60] for _, each in MISTAKES])
def test_a_value_of_a_wrong_form_is_refused_by_the_schema(values: dict[str, Any], sentence: str) -> None:
    assert refusal(values) == sentence
