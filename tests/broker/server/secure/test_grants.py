"""What the users of a secured broker may do: the rights of an application, given once to each data directory."""

import os
from pathlib import Path

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.metadata.access.acls import Acls
from barnabas.broker.security.acl.acl import Acl, AclFilter
from barnabas.broker.security.acl.audit import AclAudit
from barnabas.broker.security.acl.authorizer import Authorizer
from barnabas.broker.security.acl.index import AclIndex
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.server.secure.directory import Security, open_security
from barnabas.broker.server.secure.grants import grant_once, rights_of_client
from barnabas.broker.server.secure.secure_config import settings_for
from barnabas.storage.steps import finish
from tests.support.worlds.catalogue import CatalogueWorld

HERE, THERE = b"\x01" * 16, b"\x02" * 16
NOW_MS = 1_790_000_000_000


@pytest.fixture
def security(tmp_path: Path) -> Security:
    return open_security(str(tmp_path / "data.security"), ["localhost"], NOW_MS, os.urandom)


@pytest.fixture
def acls() -> Acls:
    return Acls(CatalogueWorld().catalogue, os.urandom)


def test_a_right_that_was_removed_does_not_come_back(security: Security, acls: Acls) -> None:
    grant_once(security, HERE, acls)
    assert acls.all == set(rights_of_client())
    gone = finish(acls.delete([AclFilter(resource_type=Resource.GROUP)]))
    assert gone[0]
    grant_once(security, HERE, acls)
    assert acls.all == set(rights_of_client()) - set(gone[0])


def test_new_data_beside_an_old_security_directory_begin_with_all_rights(security: Security, acls: Acls) -> None:
    grant_once(security, THERE, Acls(CatalogueWorld().catalogue, os.urandom))
    grant_once(security, HERE, acls)
    assert acls.all == set(rights_of_client())
    finish(acls.delete([AclFilter()]))
    grant_once(security, HERE, acls)
    assert not acls.all


def test_a_failed_write_is_not_noted(security: Security, acls: Acls, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(acls, "create", full)
    with pytest.raises(OSError, match="no space"):
        grant_once(security, HERE, acls)
    monkeypatch.undo()
    grant_once(security, HERE, acls)
    assert acls.all == set(rights_of_client())


@pytest.mark.parametrize(
    ("operation", "resource", "name", "may"),
    [
        (Operation.WRITE, Resource.TOPIC, "orders", True),
        (Operation.CREATE, Resource.TOPIC, "orders", True),
        (Operation.READ, Resource.GROUP, "readers", True),
        (Operation.WRITE, Resource.TRANSACTIONAL_ID, "payments", True),
        (Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, CLUSTER_NAME, True),
        (Operation.ALTER, Resource.CLUSTER, CLUSTER_NAME, False),
        (Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER_NAME, False),
        (Operation.ALTER_CONFIGS, Resource.TOPIC, "orders", False),
    ],
)
def test_a_client_may_do_what_an_application_does(
    operation: Operation, resource: Resource, name: str, may: bool
) -> None:
    authorizer = Authorizer(AclIndex(rights_of_client()), ["User:admin"], AclAudit())
    rules = {
        user: authorizer.rule(Principal("User", user), "127.0.0.1", operation, resource, name).is_allowed
        for user in ("client", "admin", "alice")
    }
    assert rules == {"client": may, "admin": True, "alice": False}


def test_admin_joins_the_super_users_that_there_are(security: Security) -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://:0", "super.users": "User:ops"})
    settings = settings_for(security, config)
    assert settings["super.users"] == "User:ops;User:admin"
    assert settings["authorizer.class.name"].endswith(".StandardAuthorizer")


def test_no_right_is_given_twice() -> None:
    rights: list[Acl] = rights_of_client()
    assert len(set(rights)) == len(rights)
