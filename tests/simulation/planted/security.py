"""Bugs of security: who is believed, what is allowed, what is kept of it, and who is throttled."""

from functools import partial

from tests.simulation.planted.planting import Bug

bug = partial(Bug, needs="secured")
BUGS = (
    bug("a password that nobody compares", "SCRAM lets in whoever knows the name of a user.").at(
        "ScramExchange._final",
        "if not hmac.compare_digest(found, credential.stored_key):\n    raise self._refusal()",
        "hmac.compare_digest(found, credential.stored_key)",
    ),
    bug("a request before the handshake", "What comes in place of a handshake is served, as who may do everything.").at(
        "SaslAuthenticator._next",
        "raise _Misplaced(f'a request with API key {header.api_key} before SaslHandshake')",
        "client.session.authenticated(Principal('User', 'cast'))\nreturn self._dispatch(frame, client)",
    ),
    bug("a session that does not end", "Who does not log in again in time is served all the same.", seeds=400).at(
        "SaslAuthenticator._dispatch_in_time",
        "self._door.clock.now_ms() >= self._expires_ms",
        "self._door.clock.now_ms() < 0",
    ),
    bug("decisions that are kept", "What was allowed once is allowed until the next start.").at(
        "Authorizer.changed", "self._forget()"
    ),
    bug("denied and done", "A record that was refused is written.").at(
        "produce",
        "if not kept:\n"
        "    return answers\n"
        "produced = yield transactional_id, acks, timeout_ms, kept\n"
        "return [*produced, *answers]",
        "yield transactional_id, acks, timeout_ms, topics\nreturn answers",
    ),
    bug("ACLs that are not written", "An ACL holds until the next start.").at(
        "Journal.commit",
        "self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
        "if type(records[0].record).__name__ != 'AccessControlEntryRecord':\n"
        "    self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
    ),
    bug(
        "a throttle that is only told", "The answer says for how long a client has to wait, and it is served at once."
    ).at("MutedConnections.mute", "self._is_closed", "throttle_ms"),
    bug("a throttle without an end", "A client that is throttled once is served a minute late.").at(
        "MutedConnections.mute",
        "self._clock.call_later(throttle_ms, partial(_end, future))",
        "self._clock.call_later(throttle_ms + 60_000, partial(_end, future))",
    ),
    bug("a throttle of nobody", "A client that left while it was throttled is remembered.").at(
        "MutedConnections._forget", "self._timers.pop(future, None)", "self._timers.get(future)"
    ),
    bug("a refusal of nobody", "The delay of a refusal goes on when the client is gone.").at(
        "SaslAuthenticator._refuse", "timer.cancel()", "timer"
    ),
)
