"""The description of /control/share-locks."""

from __future__ import annotations

from barnabas.broker.http.control.describing import NUMBER, answer, operation
from barnabas.broker.http.control.route_group import Description

PATH = "/control/share-locks/end"
_REFUSALS = {
    "400": "The body is invalid, or the broker has no share groups.",
    "404": "There is no such share group, or no such member in it.",
    "503": "The group's coordinator is not available.",
}
_ENDED = {
    "type": "object",
    "properties": {"records_count": {**NUMBER, "description": "Records that can be acquired again."}},
    "required": ["records_count"],
    "additionalProperties": False,
}
_REQUESTED = {
    "type": "object",
    "properties": {
        "group": {"type": "string"},
        "member": {"type": "string", "description": "Without it, the locks of all members end."},
    },
    "required": ["group"],
    "additionalProperties": False,
}
SHARE_LOCKS = Description(
    paths={
        PATH: {
            "post": operation(
                "endShareLocks",
                "End the acquisition locks of a share group's member, or of all members",
                answer("They have ended, as if their time were over.", "EndedLocks"),
                _REFUSALS,
                body="LocksToEnd",
            )
        }
    },
    schemas={"EndedLocks": _ENDED, "LocksToEnd": _REQUESTED},
)
