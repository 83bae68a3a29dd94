"""Who asks a request of the probe book: users with one right each, with all that an API's row names, or with none.

A right is an operation on a kind of resource, as listed for an API in `api/api_table.py`: `Write Topic` is the right of
the user `WriteTopic`, on every topic. The user `Produce` has all rights that the row of Produce names.
"""

from functools import cache

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE
from barnabas.broker.security.session.operations import Access
from tests.support.security.secured import ADMIN

NOBODY = "nobody"
EACH = "each right"


@cache
def _of_apis() -> dict[str, tuple[Access, ...]]:
    return {row.key.api_name: row.accesses for row in (*API_TABLE, *TELEMETRY_TABLE)}


@cache
def rights() -> dict[str, tuple[Access, ...]]:
    """The rights of each user except ADMIN, who may do everything."""
    of_apis = _of_apis()
    alone = sorted({access for accesses in of_apis.values() for access in accesses})
    single = {name_of(access): (access,) for access in alone}
    return {NOBODY: ()} | of_apis | single  # a right may have the name of an API that is more


def askers(words: str, api: str) -> tuple[str, ...]:
    """Those that stand behind `by`."""
    if words != EACH:
        return tuple(words.split(", "))
    accesses = _of_apis()[api]
    all_of_them = (api,) if len(accesses) > 1 else ()
    return tuple(dict.fromkeys((NOBODY, *map(name_of, accesses), *all_of_them, ADMIN)))


def name_of(access: Access) -> str:
    """The user with this right and no other."""
    return str(access).replace(" ", "")
