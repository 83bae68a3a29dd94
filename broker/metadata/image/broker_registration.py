"""Records that change this broker's registration: its data directories, and that it is fenced. Pure."""

from collections.abc import Sequence

from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.metadata.image.image import Image
from barnabas.protocol.log_records.catalogue import BrokerRegistrationChangeRecord

_DIRECTORIES_SINCE = 2


def registered_with(image: Image, directories: Sequence[bytes]) -> list[Versioned]:
    """Return the record that registers the broker with `directories` (ids), if it is not registered with them yet."""
    registration = image.registration
    if registration is None or registration.record.log_dirs == list(directories):
        return []
    change = BrokerRegistrationChangeRecord(
        broker_id=registration.record.broker_id, broker_epoch=registration.broker_epoch, log_dirs=list(directories)
    )
    return [Versioned(change, _DIRECTORIES_SINCE)]


def fenced(image: Image) -> list[Versioned]:
    """Return the record of a broker that has stopped cleanly, if it is not fenced already."""
    registration = image.registration
    if registration is None or registration.fenced:
        return []
    change = BrokerRegistrationChangeRecord(
        broker_id=registration.record.broker_id, broker_epoch=registration.broker_epoch, fenced=1
    )
    return [Versioned(change)]
