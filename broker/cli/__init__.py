"""The command line, one module per command, imported only when it is named."""


def main() -> int:
    """Run the command that the arguments name; returns the exit status."""
    return 2
