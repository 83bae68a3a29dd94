"""Bugs of security: authentication, authorization and quotas."""

from functools import partial

from tests.simulation.planted.planting import Bug

bug = partial(Bug, needs="secured")
BUGS = (
    bug("SCRAM proof not checked", "SCRAM accepts any password of an existing user.").at(
        "ScramExchange._final",
        "if not hmac.compare_digest(found, credential.stored_key):\n    raise self._refusal()",
        "hmac.compare_digest(found, credential.stored_key)",
    ),
    bug("request before SaslHandshake served", "A request instead of the handshake is served with all permissions.").at(
        "SaslAuthenticator._next",
        "raise _Misplaced(f'a request with API key {header.api_key} before SaslHandshake')",
        "client.session.authenticated(Principal('User', 'cast'))\nreturn self._dispatch(frame, client)",
    ),
    bug(
        "session does not expire", "Requests are served after the session has expired without a new login.", seeds=400
    ).at(
        "SaslAuthenticator._dispatch_in_time",
        "self._sasl_listener.clock.now_ms() >= self._expires_ms",
        "self._sasl_listener.clock.now_ms() < 0",
    ),
    bug(
        "cached authorization not invalidated",
        "An allowed operation stays allowed until the next restart, even if the ACLs change.",
    ).at("Authorizer.changed", "self._forget()"),
    bug("denied record written", "A record is written although Produce is denied.").at(
        "produce",
        "if not kept:\n"
        "    return answers\n"
        "produced = yield transactional_id, acks, timeout_ms, kept\n"
        "return [*produced, *answers]",
        "yield transactional_id, acks, timeout_ms, topics\nreturn answers",
    ),
    bug("ACL not written", "A new ACL is lost by a restart.").at(
        "Journal.commit",
        "self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
        "if type(records[0]).__name__ != 'AccessControlEntryRecord':\n"
        "    self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))",
    ),
    bug("throttled connection not muted", "The answer has a throttle time, but the next request is served at once.").at(
        "MutedConnections.mute", "self._is_closed", "throttle_ms"
    ),
    bug("throttle time too long", "A throttled client is served a minute late.").at(
        "MutedConnections.mute",
        "self._clock.call_later(throttle_ms, partial(_end, future))",
        "self._clock.call_later(throttle_ms + 60_000, partial(_end, future))",
    ),
    bug(
        "throttle state not removed on disconnect",
        "The state of a throttled client is not removed when the client disconnects.",
    ).at("MutedConnections._forget", "self._timers.pop(future, None)", "self._timers.get(future)"),
    bug(
        "delayed refusal not cancelled on disconnect",
        "The delay of a refused login continues after the client has disconnected.",
    ).at("SaslAuthenticator._refuse", "timer.cancel()", "timer"),
)
