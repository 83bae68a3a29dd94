"""Rules about security: who proved what, who was allowed what, what was kept, and how much was used."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from barnabas.broker.security.session.operations import Operation
from tests.simulation.history.history import History
from tests.simulation.secured.history import AclKey, Asked, SecurityHistory, Used, UserKey
from tests.simulation.secured.plan import WINDOWS

_DENY: Final = 2
_PREFIXED: Final = 4
_HOST: Final = "10.0.0.1"
_IMPLIES_DESCRIBE: Final = (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)
_ROUNDING_US: Final = 2_000


def wrong_logins(history: History) -> Iterator[str]:
    """Who was let in had the right password at some moment of the login, and who was refused a wrong one."""
    security = history.security
    for each in security.logins:
        if each.ended_us is None:
            continue
        fixed = security.passwords.get(each.user)
        known = {fixed} if fixed else security.possible(UserKey(each.user), each.began_us, each.ended_us)
        if each.is_ok and each.password not in known:
            yield f"{each.line()}, and the password was never {sorted(map(str, known))}"
        elif not each.is_ok and known == {each.password}:
            yield f"{each.line()}, and the password was right all the time"


def unproven_requests(history: History) -> Iterator[str]:
    """No request is served of who has not proven who it is."""
    for each in history.security.asked:
        is_proven = each.login is not None and each.login.is_ok is True and each.login.user == each.user
        if each.is_allowed and not is_proven:
            yield f"{each.line()}, without a login"


def overlong_sessions(history: History) -> Iterator[str]:
    """A session that is over serves no request."""
    for each in history.security.asked:
        login = each.login
        if login is None or each.ended_us is None or not login.lifetime_ms or login.ended_us is None:
            continue
        over_us = login.ended_us + login.lifetime_ms * 1000 + _ROUNDING_US
        if each.began_us > over_us:
            yield f"{each.line()}, {(each.began_us - over_us) // 1000} ms after the session of {login.line()} was over"


def wrong_decisions(history: History) -> Iterator[str]:
    """What was allowed was allowed at some moment between request and answer, and what was denied forbidden at one."""
    for each in history.security.asked:
        if each.ended_us is None or each.login is None:
            continue
        may_allow, may_deny = _decisions(history.security, each, each.ended_us)
        if each.is_allowed and not may_allow:
            yield f"{each.line()}, and it was forbidden all the time"
        elif each.is_allowed is False and not may_deny:
            yield f"{each.line()}, and it was allowed all the time"


def _decisions(security: SecurityHistory, asked: Asked, ended_us: int) -> tuple[bool, bool]:
    """Whether it may have been allowed, and denied, at some moment: denying before allowing ACLs, as in Kafka."""
    sure, perhaps = {True: False, False: False}, {True: False, False: False}  # by whether it allows
    is_named_surely = is_named_perhaps = False
    for acl in security.keys:
        if not isinstance(acl, AclKey) or not _is_about(acl, asked):
            continue
        values = security.possible(acl, asked.began_us, ended_us)
        is_sure, is_possible = None not in values, values != {None}
        is_named_surely, is_named_perhaps = is_named_surely or is_sure, is_named_perhaps or is_possible
        if _applies(acl, asked):
            allows = acl.permission != _DENY
            sure[allows], perhaps[allows] = sure[allows] or is_sure, perhaps[allows] or is_possible
    by_default = security.allows_if_no_acl
    may_allow = not sure[False] and (perhaps[True] or (by_default and not is_named_surely))
    may_deny = perhaps[False] or (not sure[True] and (not by_default or is_named_perhaps))
    return may_allow, may_deny


def _is_about(acl: AclKey, asked: Asked) -> bool:
    if acl.resource != asked.resource:
        return False
    return asked.name.startswith(acl.name) if acl.pattern == _PREFIXED else acl.name in (asked.name, "*")


def _applies(acl: AclKey, asked: Asked) -> bool:
    if acl.principal not in (f"User:{asked.user}", "User:*") or acl.host not in (_HOST, "*"):
        return False
    if acl.operation in (asked.operation, Operation.ALL):
        return True
    return acl.permission != _DENY and asked.operation == Operation.DESCRIBE and acl.operation in _IMPLIES_DESCRIBE


def refused_writes(history: History) -> Iterator[str]:
    """What was denied is not written, nor what a stranger asked for."""
    for each in history.security.asked:
        if each.value in history.security.written and (each.is_allowed is False or each.user == "nobody"):
            yield f"{each.line()}, and it is written"


def lost_rules(history: History) -> Iterator[str]:
    """Users, ACLs and quotas are as they were set last, and acknowledged, also after a death."""
    security = history.security
    for view in security.views:
        for key in security.keys:
            if not isinstance(key, view.kind):
                continue
            found = view.values.get(key)
            possible = security.possible(key, view.began_us, view.ended_us)
            if isinstance(key, UserKey):
                possible = {None if each is None else "" for each in possible}
            if found not in possible:
                yield f"{key} is {found}, and was set to {sorted(map(str, possible))}"
        for unknown in view.values.keys() - set(security.keys):
            yield f"{unknown} is there, and nobody has set it"


def beyond_quota(history: History) -> Iterator[str]:
    """Over one connection nobody uses more than its quota, and what a few windows may have at once."""
    security = history.security
    in_order = sorted(security.used, key=_connection)
    for (client, connection), group in groupby(in_order, key=_connection):
        used = list(group)
        seconds = (used[-1].ended_us - used[0].began_us) / 1e6
        most = security.rates[client] * (seconds + WINDOWS + 1) + 2 * used[0].amount
        total = sum(each.amount for each in used)
        if total > most:
            yield f"{client} used {total:g} in {seconds:.1f} s over its connection {connection}, more than {most:g}"


def _connection(used: Used) -> tuple[str, int]:
    return used.client, used.connection


RULES: Final = (
    *(wrong_logins, unproven_requests, overlong_sessions, wrong_decisions, refused_writes, lost_rules),
    beyond_quota,
)
