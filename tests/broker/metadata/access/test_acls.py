"""ACLs are kept in the catalogue in Kafka's records: through restarts, kills and snapshots, and in bounds."""

from collections.abc import Iterable, Sequence

import pytest

from barnabas.broker.metadata.access import acls as acls_module
from barnabas.broker.metadata.access.acls import Acls
from barnabas.broker.security.acl.acl import Acl, AclFilter, PatternType, Permission
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from barnabas.storage.steps import finish
from tests.support.worlds.catalogue import CatalogueWorld

READ = Acl(Resource.TOPIC, "orders", PatternType.LITERAL, "User:alice", "*", Operation.READ, Permission.ALLOW)
DENY = Acl(Resource.GROUP, "g", PatternType.PREFIXED, "User:*", "10.0.0.7", Operation.ALL, Permission.DENY)
AT_EVERY_STOP = {"metadata.log.max.record.bytes.between.snapshots": "1"}


class Heard:
    """What a listener was told."""

    def __init__(self) -> None:
        self.added: list[Acl] = []
        self.removed: list[Acl] = []

    def changed(self, *, added: Iterable[Acl] = (), removed: Iterable[Acl] = ()) -> None:
        self.added += added
        self.removed += removed


def acls_of(world: CatalogueWorld) -> Acls:
    return Acls(world.catalogue, world._random.randbytes)


def numbered(count: int) -> list[Acl]:
    return [READ._replace(resource_name=f"t{number}") for number in range(count)]


def code(results: Sequence[KafkaError | None]) -> list[ErrorCode | None]:
    return [None if result is None else result.code for result in results]


@pytest.fixture
def world() -> CatalogueWorld:
    return CatalogueWorld()


def test_an_acl_is_kafkas_record_and_outlives_a_kill(world: CatalogueWorld) -> None:
    acls, heard = acls_of(world), Heard()
    acls.subscribe(heard)
    assert acls.create([READ, DENY, READ]) == [None, None, None]
    assert heard.added == [READ, DENY]
    written = [each for *_, each in world.records() if isinstance(each, AccessControlEntryRecord)]
    assert [(each.resource_name, each.pattern_type, each.principal, each.permission_type) for each in written] == [
        ("orders", 3, "User:alice", 3),
        ("g", 4, "User:*", 2),
    ]
    assert len({each.id for each in written}) == 2
    world.kill()
    assert acls_of(world).all == {READ, DENY}


def test_creating_an_existing_entry_writes_no_record(world: CatalogueWorld) -> None:
    acls = acls_of(world)
    acls.create([READ])
    before = len(world.records())
    assert acls.create([READ]) == [None]
    assert len(world.records()) == before


def test_a_snapshot_has_those_that_are_there() -> None:
    world = CatalogueWorld(settings=AT_EVERY_STOP)
    acls = acls_of(world)
    acls.create([READ, DENY])
    assert finish(acls.delete([AclFilter(resource_name="orders")])) == [[READ]]
    world.stop()
    assert acls_of(world).all == {DENY}
    world.stop()
    assert acls_of(world).all == {DENY}


def test_deleting_states_what_each_filter_found_and_removes_it_once(world: CatalogueWorld) -> None:
    acls, heard = acls_of(world), Heard()
    acls.create([READ, DENY])
    acls.subscribe(heard)
    everything, topics = AclFilter(), AclFilter(resource_type=Resource.TOPIC)
    found = finish(acls.delete([everything, topics, topics]))
    assert [sorted(each) for each in found] == [sorted([READ, DENY]), [READ], [READ]]
    assert (sorted(heard.removed), len(acls)) == (sorted([READ, DENY]), 0)
    gone = [each for *_, each in world.records() if isinstance(each, RemoveAccessControlEntryRecord)]
    assert len(gone) == 2
    world.kill()
    assert acls_of(world).all == set()


def test_an_acl_that_stands_there_twice_is_in_force_until_both_are_gone(world: CatalogueWorld) -> None:
    """As no Kafka writes it, but a log may have it."""
    acls_of(world).create([READ])
    acls = acls_of(world)
    acls._there.clear()
    acls.create([READ])
    acls, heard = acls_of(world), Heard()
    acls.subscribe(heard)
    assert len(acls) == 2
    finish(acls.delete([AclFilter()]))
    assert heard.removed.count(READ) > 0
    assert not acls.all


@pytest.mark.parametrize(
    "acl",
    [
        READ._replace(resource_type=1),
        READ._replace(resource_type=99),
        READ._replace(resource_name=""),
        READ._replace(pattern_type=1),
        READ._replace(pattern_type=PatternType.MATCH),
        READ._replace(operation=1),
        READ._replace(operation=99),
        READ._replace(permission=1),
        READ._replace(principal="alice"),
        READ._replace(host=""),
        READ._replace(resource_type=Resource.CLUSTER, resource_name="other"),
    ],
    ids=repr,
)
def test_invalid_topics_are_refused_and_the_others_are_created(acl: Acl) -> None:
    acls = acls_of(CatalogueWorld())
    assert code(acls.create([acl, DENY])) == [ErrorCode.INVALID_REQUEST, None]
    assert acls.all == {DENY}


def test_the_cluster_has_one_name() -> None:
    acls = acls_of(CatalogueWorld())
    assert acls.create([READ._replace(resource_type=Resource.CLUSTER, resource_name=CLUSTER_NAME)]) == [None]


def test_a_request_adds_and_removes_no_more_than_kafkas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls_module, "CHANGES_MAX", 3)
    acls = acls_of(CatalogueWorld())
    with pytest.raises(KafkaError) as refusal:
        acls.create(numbered(4))
    assert (refusal.value.code, len(acls)) == (ErrorCode.POLICY_VIOLATION, 0)
    acls.create(numbered(3))
    acls.create(numbered(6)[3:])
    with pytest.raises(KafkaError) as refusal:
        finish(acls.delete([AclFilter()]))
    assert (refusal.value.code, len(acls)) == (ErrorCode.POLICY_VIOLATION, 6)


def test_there_are_no_more_than_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls_module, "ACLS_MAX", 3)
    acls = acls_of(CatalogueWorld())
    acls.create(numbered(3))
    with pytest.raises(KafkaError) as refusal:
        acls.create([DENY])
    assert (refusal.value.code, len(acls)) == (ErrorCode.POLICY_VIOLATION, 3)


def test_a_network_needs_its_metadata_version() -> None:
    network = READ._replace(host="10.0.0.0/8")
    assert code(acls_of(CatalogueWorld()).create([network])) == [ErrorCode.UNSUPPORTED_VERSION]
    world = CatalogueWorld()
    world.catalogue.set_features({"metadata.version": 32})
    wrong = READ._replace(host="10.0.0.0/33")
    assert code(acls_of(world).create([network, wrong])) == [None, ErrorCode.INVALID_REQUEST]
