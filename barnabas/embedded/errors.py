"""The errors of an embedded broker."""


class BarnabasError(Exception):
    """The broker could not do the operation; str() is a sentence with the operation and the reason."""


class NotRunning(BarnabasError):
    """The broker does not run: it was not started, was stopped, was killed or has died."""


class Crashed(NotRunning):
    """A fault armed by the test crashed the broker: `fault` is its name, `point` the step. `start` brings it back."""

    def __init__(self, fault: str, point: str, what: str) -> None:
        super().__init__(what)
        self.fault = fault
        self.point = point


class BarnabasWarning(UserWarning):
    """A setting that has no effect, most likely a typing error."""
