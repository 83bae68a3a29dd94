"""A schema registry in a thread: what of Confluent's API a client asks for that writes and reads Avro.

It has a schema's id and the schema of an id, for all subjects together, and checks nothing. The real one is in
`tests/support/stack/registry.py`.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

_REGISTER = re.compile(r"/subjects/([^/]+)(/versions)?")
_BY_ID = re.compile(r"/schemas/ids/(\d+)")
_FIRST_ID = 7


class SmallRegistry:
    """At `url` while it is entered; `schemas` has the text of each in the order of their ids."""

    def __init__(self) -> None:
        self.schemas: list[str] = []
        self.is_away = False
        registry = self

        class Asked(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = _BY_ID.fullmatch(self.path)
                number = int(found[1]) - _FIRST_ID if found else -1
                self._answer(registry.schema(number) if 0 <= number < len(registry.schemas) else None)

            def do_POST(self) -> None:
                schema = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["schema"]
                found = _REGISTER.fullmatch(self.path)
                self._answer(registry.registered(found[1], schema, is_new=bool(found[2])) if found else None)

            def _answer(self, found_schema: dict[str, Any] | None) -> None:
                body = json.dumps(found_schema or {"error_code": 40403, "message": "not found"}).encode()
                self.send_response(503 if registry.is_away else 404 if found_schema is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Asked)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def schema(self, number: int) -> dict[str, Any]:
        """The answer with the schema of a number."""
        return {"schema": self.schemas[number]}

    def registered(self, subject: str, schema: str, *, is_new: bool) -> dict[str, Any] | None:
        """The answer about a schema, which is taken if `is_new`."""
        if schema not in self.schemas:
            if not is_new:
                return None
            self.schemas.append(schema)
        number = self.schemas.index(schema)
        return {"subject": subject, "id": number + _FIRST_ID, "version": number + 1, "schema": schema}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
