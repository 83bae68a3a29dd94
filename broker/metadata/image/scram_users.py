"""The users of SCRAM: their stored credentials, and the changes of them, in Kafka's records.

The rules, error codes and messages are those of Apache Kafka 4.4.0's controller: a user that is named twice in a
request is not changed, all others are, in one batch. Salts and keys are never returned to clients; the salted password
that a client sends is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from barnabas.broker.metadata.image.framing import Encoded, Versioned, encoded
from barnabas.broker.metadata.image.image import Image
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.sasl.add_scram import NewUser
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from barnabas.protocol.security.scram import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    MECHANISMS,
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted,
)
from barnabas.storage.steps import Steps, finish, mapped

_log = logger("security")

ALTERATIONS_MAX: Final = 1_000
"""The maximum number per request, which is one batch."""
_SALT_BYTES: Final = 32
_SCRAM_SINCE: Final = 11  # metadata.version 3.5-IV2
_BY_NUMBER: Final = {each.number: each for each in MECHANISMS}


class Deletion(NamedTuple):
    """A request to delete a user's credential of this mechanism."""

    user: str
    mechanism: int


class Upsertion(NamedTuple):
    """A request to set this credential, for which a password was salted."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion({self.user!r}, {self.mechanism})"  # the salted password is as secret as the password


Results = dict[str, KafkaError | None]
"""The result by user."""


def check_count(alterations: int) -> None:
    """Raise INVALID_REQUEST if one request contains too many alterations."""
    if alterations > ALTERATIONS_MAX:
        sentence = f"More than {ALTERATIONS_MAX} user credentials cannot be altered in one request."
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)


class ScramUsers:
    """The users of one catalogue."""

    def __init__(self, image: Image, commit: Callable[[Encoded], None]) -> None:
        """Create the users. commit: makes records durable and replays them into the image; raises KafkaError."""
        self._image = image
        self._commit = commit

    def credential_of(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        """Return a user's stored credential for a mechanism, or None."""
        record = self._image.scram.get((user, mechanism.number))
        if record is None:
            return None
        return ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)

    def iterations(self) -> Mapping[str, Mapping[int, int]]:
        """Return the iterations of all credentials, by user and mechanism."""
        found: dict[str, dict[int, int]] = {}
        for (user, mechanism), record in sorted(self._image.scram.items()):
            found.setdefault(user, {})[mechanism] = record.iterations
        return found

    def give(self, new: NewUser, random_bytes: Callable[[int], bytes]) -> None:
        """Give a user this password, unless it has it already. Raises KafkaError."""
        kept = self.credential_of(new.mechanism, new.name)
        if kept is not None and kept == _credential(new, kept.salt if new.salt is None else new.salt):
            return
        salt = random_bytes(_SALT_BYTES) if new.salt is None else new.salt
        upsertion = Upsertion(new.name, new.mechanism.number, new.iterations, salt, _salted(new, salt))
        for refusal in self.alter([], [upsertion]).values():
            if refusal is not None:
                raise refusal

    def alter(self, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]) -> Results:
        """Change credentials; return the result by user. Raise KafkaError if none was changed: request or disk."""
        return finish(self.alter_in_steps(deletions, upsertions))

    def alter_in_steps(self, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]) -> Steps[Results]:
        """Do the same as `alter` in steps; decide again if users were added or removed meanwhile."""
        check_count(len(deletions) + len(upsertions))
        results, accepted = _decided(deletions, upsertions, self._image)
        is_new = False
        while not is_new:
            before = accepted
            change = yield from encoded((yield from mapped(_record, accepted)))
            results, accepted = _decided(deletions, upsertions, self._image)
            is_new = accepted == before
        self._commit(change)
        for each in accepted:
            what = "user removed" if isinstance(each, Deletion) else "user altered"
            _log.info(line(what, user=each.user, mechanism=_BY_NUMBER[each.mechanism].name))
        return results


def _salted(new: NewUser, salt: bytes) -> bytes:
    if new.salted_password is not None:
        return new.salted_password
    assert new.password is not None, "there is one of the two"
    return salted(new.mechanism, new.password, salt, new.iterations)


def _credential(new: NewUser, salt: bytes) -> ScramCredential:
    return credential_of(new.mechanism, _salted(new, salt), salt, new.iterations)


def _decided(
    deletions: Sequence[Deletion], upsertions: Sequence[Upsertion], image: Image
) -> tuple[Results, list[Deletion | Upsertion]]:
    """Return the result by user, and the alterations to be made."""
    refused: dict[str, KafkaError] = {}
    accepted: dict[str, Deletion | Upsertion] = {}
    requested: list[Deletion | Upsertion] = [*deletions, *upsertions]
    for each in requested:
        if each.user in refused:
            continue
        if accepted.pop(each.user, None) is not None:
            sentence = "A user credential cannot be altered twice in the same request"
            refused[each.user] = KafkaError(ErrorCode.DUPLICATE_RESOURCE, sentence)
            continue
        refusal = _refusal(each, image)
        if refusal is None:
            accepted[each.user] = each
        else:
            refused[each.user] = refusal
    return {**dict.fromkeys(accepted), **refused}, list(accepted.values())


def _refusal(each: Deletion | Upsertion, image: Image) -> KafkaError | None:
    if image.metadata_version < _SCRAM_SINCE:
        return KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM")
    if not each.user:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if each.mechanism not in _BY_NUMBER:
        return KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(each, Deletion):
        if (each.user, each.mechanism) in image.scram:
            return None
        return KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    if each.iterations < ITERATIONS_MIN:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if each.iterations > ITERATIONS_MAX:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return None


def _record(each: Deletion | Upsertion) -> Versioned:
    if isinstance(each, Deletion):
        return Versioned(RemoveUserScramCredentialRecord(name=each.user, mechanism=each.mechanism))
    credential = credential_of(_BY_NUMBER[each.mechanism], each.salted_password, each.salt, each.iterations)
    return Versioned(
        UserScramCredentialRecord(
            name=each.user,
            mechanism=each.mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    )
