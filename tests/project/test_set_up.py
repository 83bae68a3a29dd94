"""What scripts/_setup_venv.py leaves behind, apart from the packages that it installs, and where it installs from."""

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _set_up_script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("_setup_venv", ROOT / "scripts" / "_setup_venv.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_our_packages_are_compiled_even_where_python_writes_no_bytecode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    inner = tmp_path / "package" / "inner"
    inner.mkdir(parents=True)
    (inner / "module.py").write_text("VALUE = 1\n")
    _set_up_script().compile_packages(Path(sys.executable), tmp_path, ["package"])
    assert [path.name.partition(".")[0] for path in inner.glob("__pycache__/*.pyc")] == ["module"]


def test_an_environment_that_is_a_symbolic_link_is_refused_and_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "requirements", root / "requirements")
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / ".venv").symlink_to(elsewhere)
    assert _set_up_script().main(root, root / ".venv", "dev") == 1
    assert "is a symbolic link" in capsys.readouterr().err
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]


def test_uv_asks_the_indexes_that_pip_is_configured_for() -> None:
    listed = """\
:env:.find-links='/wheels'
:env:.index-url='https://of-the-environment.example/simple'
global.cert='/etc/mirror.pem'
global.extra-index-url='https://a.example/simple\\nhttps://b.example/simple'
global.index-url='https://of-the-file.example/simple'
install.no-compile='true'
"""
    options, variables = _set_up_script().as_for_pip(listed)
    assert options == [
        "--index-strategy",
        "unsafe-best-match",
        "--index-url=https://of-the-environment.example/simple",
        "--extra-index-url=https://a.example/simple",
        "--extra-index-url=https://b.example/simple",
        "--find-links=/wheels",
    ]
    assert variables == {"SSL_CERT_FILE": "/etc/mirror.pem"}


@pytest.mark.parametrize(("lock", "has_uv"), [("dev", True), ("release", True), ("serve", False), ("test", False)])
def test_a_lock_with_uv_installs_uv_first_and_by_its_hashes(lock: str, has_uv: bool) -> None:
    found = _set_up_script().UV_IN_A_LOCK.search((ROOT / "requirements" / f"{lock}.txt").read_text())
    assert (found is not None) == has_uv
    if found is not None:
        first, *hashes = found[0].splitlines()
        assert first.startswith("uv==")
        assert len(hashes) > 5
        assert all(line.strip().startswith("--hash=sha256:") for line in hashes)
