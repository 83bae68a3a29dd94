"""The measured form of the hot modules: scripts/bench sets BARNABAS_FORM by --form, before Python starts.

Brokers and load generators inherit the variable. So the form is the same for each of them, or it does not start.
"""

import argparse
import platform

from barnabas import form


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add --form, for the help and to refuse other words."""
    parser.add_argument(
        "--form", choices=(form.PURE, form.COMPILED), help="of Barnabas's hot modules: compiled is the default"
    )


def in_words(wished: str | None) -> str:
    """Return a line with the measured form. Raise SystemExit if another form was wished: scripts/bench was bypassed."""
    if wished not in (None, form.running()):
        raise SystemExit(f"--form {wished} is for scripts/bench; this Python runs the {form.running()} form")
    return f"Barnabas: the {form.running()} form on {platform.python_implementation()} {platform.python_version()}\n"
