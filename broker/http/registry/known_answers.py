"""Answers of the registry to GET requests, kept for those that repeat them: clients look up the same few ids.

An answer is a function of the state alone, so the answers are forgotten when the state changes, and not given while
the log has records that are not applied, or not on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.http.pages import OK, Page

if TYPE_CHECKING:
    from barnabas.broker.http.registry.schemas_topic import SchemasTopic
    from barnabas.registry.schema_registry import SchemaRegistry

KEPT_MAX = 500
ANSWER_BYTES_MAX = 32 << 10
KEPT_BYTES_MAX = 1 << 20
Headers = Sequence[tuple[bytes, bytes]]


class KnownAnswers:
    """The answers for one state of the registry."""

    def __init__(self, registry: SchemaRegistry, topic: SchemasTopic) -> None:
        self._registry = registry
        self._topic = topic
        self._revision = -1
        self._bytes = 0
        self._pages: dict[tuple[bytes, bytes], Page] = {}

    def get(self, method: str, target: bytes, headers: Headers) -> Page | None:
        """Return the answer if it is known and still true."""
        if method != "GET" or not self._is_true():
            return None
        return self._pages.get((target, _accept(headers)))

    def keep(self, method: str, target: bytes, headers: Headers, revision: int, page: Page) -> None:
        """Keep an answer that was made while the state had this revision."""
        is_kept = method == "GET" and page.status == OK and len(page.body) <= ANSWER_BYTES_MAX
        if not is_kept or not self._is_true() or revision != self._revision:
            return
        if len(self._pages) >= KEPT_MAX or self._bytes + len(page.body) > KEPT_BYTES_MAX:
            self._forget()
        self._bytes += len(page.body)
        self._pages[target, _accept(headers)] = page

    def _is_true(self) -> bool:
        if not self._topic.is_applied or not self._topic.is_durable:
            return False
        if self._revision != self._registry.state.revision:
            self._forget()
            self._revision = self._registry.state.revision
        return True

    def _forget(self) -> None:
        self._pages.clear()
        self._bytes = 0


def _accept(headers: Headers) -> bytes:
    return next((value for name, value in headers if name == b"accept"), b"")
