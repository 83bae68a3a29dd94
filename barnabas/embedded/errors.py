"""What can go wrong with an embedded broker."""


class BarnabasError(Exception):
    """The broker could not do what was asked; str() says what and why in a sentence."""


class NotRunning(BarnabasError):
    """There is no broker to ask: it was not started, was stopped, was killed or has died."""


class BarnabasWarning(UserWarning):
    """A setting that has no effect, most likely a typing error."""
