"""Records that change what this broker is registered as: the data directories it has, and that it is gone. Pure."""

from collections.abc import Sequence

from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.metadata.image.image import Image
from barnabas.protocol.log_records.catalogue import BrokerRegistrationChangeRecord

_DIRECTORIES_SINCE = 2


def registered_with(image: Image, directories: Sequence[bytes]) -> list[Versioned]:
    """The record that has the broker registered with `directories` (ids), if it is not already."""
    registration = image.registration
    if registration is None or registration.record.log_dirs == list(directories):
        return []
    change = BrokerRegistrationChangeRecord(
        broker_id=registration.record.broker_id, broker_epoch=registration.broker_epoch, log_dirs=list(directories)
    )
    return [Versioned(change, _DIRECTORIES_SINCE)]


def fenced(image: Image) -> list[Versioned]:
    """The record of a broker that has stopped cleanly, if it does not count as stopped already."""
    registration = image.registration
    if registration is None or registration.fenced:
        return []
    change = BrokerRegistrationChangeRecord(
        broker_id=registration.record.broker_id, broker_epoch=registration.broker_epoch, fenced=1
    )
    return [Versioned(change)]
