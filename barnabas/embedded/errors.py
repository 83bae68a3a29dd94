"""What can go wrong with an embedded broker."""


class BarnabasError(Exception):
    """The broker could not do what was asked; str() says what and why in a sentence."""


class NotRunning(BarnabasError):
    """There is no broker to ask: it was not started, was stopped, was killed or has died."""


class Crashed(NotRunning):
    """A fault of the test's crashed it: `fault` is its name, `point` the step. `start` brings it back."""

    def __init__(self, fault: str, point: str, what: str) -> None:
        super().__init__(what)
        self.fault = fault
        self.point = point


class BarnabasWarning(UserWarning):
    """A setting that has no effect, most likely a typing error."""
