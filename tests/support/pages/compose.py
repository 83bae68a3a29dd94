"""`docker compose up` without Docker: the command of the image, with the settings of its one service in a compose file.

Of the file only the service's variables and the directory that it mounts on /etc/kafka/secrets count. `tests/container`
runs such a file in the image itself.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.support.ports import unused_port
from tests.support.processes.server import ROOT

_SECRETS = "/etc/kafka/secrets"


def variables_of(text: str) -> dict[str, str]:
    """The environment in a compose file: its lines NAME: value, with or without quotes. `$$` is a dollar there."""
    found = re.findall(r"^ +([A-Z][A-Z_0-9]+): (.+)$", text, re.MULTILINE)
    return {name: value.strip("'\"").replace("$$", "$") for name, value in found}


def mounted_secrets(text: str) -> str | None:
    """The directory that lies on /etc/kafka/secrets, relative to the file."""
    found = re.search(rf"^ +- (\S+?):{_SECRETS}(?::ro)?$", text, re.MULTILINE)
    return None if found is None else found[1]


def image_command(directory: Path, text: str) -> tuple[list[str], Mapping[str, str]]:
    """What the image would run in `directory`, and its variables: places of the image are those of the machine."""
    script = directory / ".image-run"
    written = (ROOT / "docker" / "run").read_text(encoding="utf-8")
    script.write_text(written.replace("here=/etc/kafka/docker", f"here={ROOT / 'docker'}"))
    variables = variables_of(text)
    if (secrets := mounted_secrets(text)) is not None:
        place = str(directory / secrets)
        variables = {name: value.replace(_SECRETS, place) for name, value in variables.items()}
        variables["BARNABAS_SECRETS_DIR"] = place
    variables["KAFKA_LOG_DIRS"] = str(directory / "data-of-the-container")
    variables["BARNABAS_HTTP"] = f"127.0.0.1:{unused_port()}"
    return ["bash", str(script)], variables
