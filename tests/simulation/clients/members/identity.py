"""Who commits offsets: a member of a group, by generation or member epoch, or nobody."""

from typing import NamedTuple

NO_MEMBER_EPOCH = -1  # the epoch of who is in no group


class Identity(NamedTuple):
    """What OffsetCommit and TxnOffsetCommit want to know."""

    member_id: str = ""
    epoch: int = NO_MEMBER_EPOCH
    instance_id: str | None = None


NO_MEMBER = Identity()
