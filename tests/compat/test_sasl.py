"""A wrong password over SASL_PLAINTEXT, on both servers. All else that is refused is in tests/golden/probes/sasl_*.txt.

Clients that are let in are in tests/compat/secured and in test_security_pages.py.
"""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.security.secured import ADMIN, SASL_PLAINTEXT, secured_kind

FAILED = {
    ("PLAIN", "alice"): "Authentication failed: Invalid username or password",
    ("SCRAM-SHA-256", ADMIN): "Authentication failed during authentication due to invalid credentials with SASL "
    "mechanism SCRAM-SHA-256",
}


def test_a_wrong_password_is_told_to_clients_in_kafkas_words(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kind = secured_kind(request.config.getoption("--against"))
    with kind(tmp_path / "data", users=("alice",), scram_users=(ADMIN,), has_authorizer=False) as server:
        for (mechanism, user), failed in FAILED.items():
            told: list[KafkaError] = []
            settings: dict[str, Any] = {
                "bootstrap.servers": f"127.0.0.1:{server.ports[SASL_PLAINTEXT]}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.username": user,
                "sasl.password": "wrong",
                "error_cb": told.append,
            }
            client = AdminClient(settings)
            with pytest.raises(KafkaException):
                client.list_topics(timeout=2)
            client.poll(1)
            assert any(error.code() == KafkaError._AUTHENTICATION and failed in error.str() for error in told), told
