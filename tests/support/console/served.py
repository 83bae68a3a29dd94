"""`barnabas serve --http --control`: a real process with the console on a port of its own."""

from tests.support.processes.served import Running, ask


class Served(Running):
    @property
    def console(self) -> str:
        return f"http://{self.http}/console"

    def control(self, path: str, asked: object) -> None:
        """POST it to /control."""
        status, found = ask(self.http, "POST", asked, f"/control/{path}")
        assert status == 200, found
