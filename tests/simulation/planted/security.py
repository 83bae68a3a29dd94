"""Bugs of security: who is believed, what is allowed, what is kept of it, and who is throttled."""

from tests.simulation.planted.planting import bug

_NEEDS = "secured"
BUGS = (
    bug(
        "a password that nobody compares",
        "SCRAM lets in whoever knows the name of a user.",
        "broker/security/scram.py",
        "        if not hmac.compare_digest(found, credential.stored_key):\n            raise self._refusal()\n",
        "        hmac.compare_digest(found, credential.stored_key)\n",
        needs=_NEEDS,
    ),
    bug(
        "a request before the handshake",
        "What comes in place of a handshake is served, as who may do everything.",
        "broker/api/gate.py",
        '        raise _Misplaced(f"a request with API key {header.api_key} before SaslHandshake")\n',
        '        client.session.authenticated(Principal("User", "cast"))\n'
        "        return self._dispatch(frame, client)\n",
        needs=_NEEDS,
    ),
    bug(
        "a session that does not end",
        "Who does not log in again in time is served all the same.",
        "broker/api/gate.py",
        "        if self._expires_ms is not None and self._door.clock.now_ms() > self._expires_ms:\n",
        "        if self._expires_ms is not None and self._door.clock.now_ms() < 0:\n",
        needs=_NEEDS,
        seeds=400,
    ),
    bug(
        "decisions that are kept",
        "What was allowed once is allowed until the next start.",
        "broker/authorization/authorizer.py",
        "            self._index.remove(acl)\n        self._forget()\n",
        "            self._index.remove(acl)\n",
        needs=_NEEDS,
    ),
    bug(
        "denied and done",
        "A record that was refused is written.",
        "broker/guards/of_produce.py",
        "    if not kept:\n        return answers\n"
        "    return then(ask((transactional_id, acks, timeout_ms, kept)), lambda produced: [*produced, *answers])\n",
        "    return then(ask((transactional_id, acks, timeout_ms, topics)), lambda produced: answers)\n",
        needs=_NEEDS,
    ),
    bug(
        "ACLs that are not written",
        "An ACL holds until the next start.",
        "broker/catalogue/journal.py",
        "        self._log.append(build_batch(rows, **self._place()))\n        for (record, _), value in zip(",
        '        if type(records[0].record).__name__ != "AccessControlEntryRecord":\n'
        "            self._log.append(build_batch(rows, **self._place()))\n"
        "        for (record, _), value in zip(",
        needs=_NEEDS,
    ),
    bug(
        "a throttle that is only told",
        "The answer says for how long a client has to wait, and it is served at once.",
        "broker/quotas/muting.py",
        "        if self._is_closed:\n            future.set_result(None)\n",
        "        if throttle_ms:\n            future.set_result(None)\n",
        needs=_NEEDS,
    ),
    bug(
        "a throttle without an end",
        "A client that is throttled once is served a minute late.",
        "broker/quotas/muting.py",
        "call_later(throttle_ms, partial(",
        "call_later(throttle_ms + 60_000, partial(",
        needs=_NEEDS,
    ),
    bug(
        "a throttle of nobody",
        "A client that left while it was throttled is remembered.",
        "broker/quotas/muting.py",
        "        timer = self._timers.pop(future, None)\n",
        "        timer = self._timers.get(future)\n",
        needs=_NEEDS,
    ),
    bug(
        "a refusal of nobody",
        "The delay of a refusal goes on when the client is gone.",
        "broker/api/gate.py",
        "            future.add_done_callback(lambda _: timer.cancel())\n",
        "            future.add_done_callback(lambda _: timer)\n",
        needs=_NEEDS,
    ),
)
