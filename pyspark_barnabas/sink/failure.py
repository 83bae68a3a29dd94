"""How the sink fails: with one sentence that says what to do."""

from __future__ import annotations

from pyspark_barnabas.reporting.user_errors import UserError


class SinkFailed(UserError):
    """The task, the commit or the abort failed; nothing is lost or written twice by trying the batch again."""
