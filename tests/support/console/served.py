"""`barnabas serve --http --control`: a real process with the console on its own port."""

from tests.support.processes.served import Running, ask


class Served(Running):
    @property
    def console(self) -> str:
        return f"http://{self.http}/console"

    @property
    def registry(self) -> str:
        """The address of the schema registry."""
        return self.ready.partition(" registry=")[2].split()[0]

    def control(self, path: str, body: object) -> None:
        """POST it to /control."""
        status, found = ask(self.http, "POST", body, f"/control/{path}")
        assert status == 200, found
