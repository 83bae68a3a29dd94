"""Settings of a job: from flags, the environment and a file, and refused where they mean nothing."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.config import Streaming, load, setting


@dataclass(frozen=True)
class Config(Streaming):
    """What the tests load."""

    source_topic: str = setting("orders.raw", "where from")
    is_strict: bool = setting(False, "whether")


def read(*arguments: str, environment: dict[str, str] | None = None) -> Config:
    return load(Config, "validate", arguments, environment or {}, "A job.")


def test_flags_win_over_the_environment_which_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(
        '[validate]\nsource-topic = "file"\ntrigger = "file"\nmax-offsets-per-trigger = 5\nis-strict = true\n'
    )
    environment = {"VALIDATE_CONFIG": str(file), "VALIDATE_SOURCE_TOPIC": "environment", "VALIDATE_TRIGGER": "1 second"}
    config = read("--source-topic", "flag", environment=environment)
    assert (config.source_topic, config.trigger, config.max_offsets_per_trigger) == ("flag", "1 second", 5)
    assert config.is_strict is True
    assert config.bootstrap_servers == "127.0.0.1:9092"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--max-offsets-per-trigger", "many"), "--max-offsets-per-trigger is 'many', and must be a whole number"),
        (("--is-strict", "perhaps"), "must be true or false"),
        (("--config", "/no/such/file"), "/no/such/file cannot be read"),
        (("--no-such-flag", "1"), "unrecognized arguments"),
    ],
)
def test_meaningless_options_are_refused_with_a_sentence(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read(*arguments)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_an_unknown_key_of_the_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text('[validate]\nsource-topik = "x"\n')
    with pytest.raises(SystemExit):
        read("--config", str(file))
    assert "[validate] has an unknown key source-topik: did you mean source-topic?" in capsys.readouterr().err


def test_help_tells_every_setting_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read("--help")
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "--source-topic … where from (default: orders.raw)" in said
    assert "--checkpoint-location …" in said
    assert "VALIDATE_BOOTSTRAP_SERVERS" in said
