"""scripts/newer with the clients of the languages and an index of our own: which packages have a newer release."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from scripts.comparing import asking
from scripts.comparing.__main__ import main

WHEEL = "a_package-2.0-py3-none-any.whl"
MAVEN = """#!{python}
import os, pathlib, re, sys, time, urllib.request
home = pathlib.Path(os.environ["HOME"], ".m2", "repository")
pom = pathlib.Path(sys.argv[sys.argv.index("-f") + 1]).read_text()
for group, artifact in re.findall("<groupId>([^*<]+)</groupId><artifactId>([^<]+)</artifactId><version>.", pom)[1:]:
    place = group.replace(".", "/") + "/" + artifact
    try:
        note = urllib.request.urlopen(os.environ["INDEX"] + "/" + place + "/maven-metadata.xml").read()
    except OSError:
        continue
    (home / place).mkdir(parents=True, exist_ok=True)
    (home / place / "maven-metadata-central.xml").write_bytes(note)
    when = "maven-metadata-central.xml.lastUpdated=%d" % (time.time() * 1000)
    (home / place / "resolver-status.properties").write_text(when)
sys.exit("[ERROR] Could not read a preview")
"""


def wheel() -> bytes:
    """A package that needs another one, which the index does not have."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        about = "Metadata-Version: 2.1\nName: a-package\nVersion: 2.0\nRequires-Dist: missing\n"
        archive.writestr("a_package-2.0.dist-info/METADATA", about)
        archive.writestr(
            "a_package-2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("a_package-2.0.dist-info/RECORD", "")
    return content.getvalue()


def pages() -> dict[str, bytes]:
    """What the index has, by path."""
    built = wheel()
    link = f'<a href="/files/{WHEEL}#sha256={hashlib.sha256(built).hexdigest()}">{WHEEL}</a>'
    packed = {"name": "a-client", "dist-tags": {"latest": "3.1.0"}, "versions": {"3.1.0": {}, "4.0.0-rc": {}}}
    versions = "".join(f"<version>{each}</version>" for each in ("1.0", "1.10.0", "1.9.0", "2.0.0-preview1"))
    return {
        "/simple/a-package/": link.encode(),
        f"/files/{WHEEL}": built,
        "/example.com/!some/module/@v/list": b"v1.0.0\nv1.2.0\n",
        "/example.com/!some/module/@v/v1.2.0.info": b'{"Version": "v1.2.0", "Time": "2026-11-01T00:00:00Z"}',
        "/example.com/!some/module/@v/v1.2.0.mod": b"module example.com/Some/module\n",
        "/a-client": json.dumps(packed).encode(),
        "/com/example/a-jar/maven-metadata.xml": f"<metadata><versions>{versions}</versions></metadata>".encode(),
    }


class Index(BaseHTTPRequestHandler):
    """An index of packages of all languages."""

    pages = pages()

    def do_GET(self) -> None:
        content = self.pages.get(unquote(self.path.partition("?")[0]))
        self.send_response(404 if content is None else 200)
        kind = "application/json" if self.path == "/a-client" else "text/html"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture(autouse=True)
def _index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The clients ask our index, and remember nothing."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        programs = tmp_path / "programs"
        programs.mkdir()
        (programs / "mvn").write_text(MAVEN.format(python=sys.executable))
        (programs / "mvn").chmod(0o755)
        variables = {
            "HOME": str(tmp_path),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "INDEX": address,
            "UV_DEFAULT_INDEX": f"{address}/simple",
            "UV_CACHE_DIR": str(tmp_path / "uv"),
            "UV_NO_CONFIG": "1",
            "GOPROXY": address,
            "GOSUMDB": "off",
            "GOMODCACHE": str(tmp_path / "go"),
            "GOFLAGS": "-modcacherw",
            "npm_config_registry": address,
            "npm_config_cache": str(tmp_path / "npm"),
            "no_proxy": "127.0.0.1",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("UV_FIND_LINKS", raising=False)
        yield
        server.shutdown()
        thread.join()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that pins a package of each language."""
    root = tmp_path / "tree"
    direct, indirect = "require example.com/Some/module v1.1.0", "require (\n\tother.org/x v1.0.0 // indirect\n)"
    jar = '_OURS = THEIRS = "1.2.0"\nJARS = [("com.example", "a-jar", _OURS)]\n# by org. and io.'
    files = {
        "requirements/all.in": "# ours\nA.Package>=1 # why\n-r other.in\n",
        "requirements/all.txt": "a-package==1.5 \\\n    --hash=sha256:00\nmissing==1.0 \\\n",
        "go/go.mod": f"module us\n\n{direct}\n\n{indirect}\n",
        "js/package.json": '{"dependencies": {"a-client": "3.0.0"}}',
        "js/package-lock.json": '{"packages": {"node_modules/a-client": {"version": "3.0.0"}}}',
        "tests/jars.py": jar,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", root], check=True)
    subprocess.run(["git", "-C", root, "add", "--all"], check=True)
    return root


LINES = {
    "python": "python a-package 1.5 2.0\n",
    "go": "go example.com/Some/module v1.1.0 v1.2.0\n",
    "npm": "npm a-client 3.0.0 3.1.0\n",
    "maven": "maven com.example:a-jar 1.2.0 1.10.0\n",
}


def test_a_line_for_each_package_that_has_a_newer_release(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tree) == 0
    assert capsys.readouterr() == ("".join(LINES.values()), "")


@pytest.mark.parametrize(
    ("kind", "file", "old", "new"),
    [
        ("python", "requirements/all.txt", "==1.5", "==2.0"),
        ("go", "go/go.mod", "v1.1.0", "v1.2.0"),
        ("npm", "js/package-lock.json", "3.0.0", "3.1.0"),
        ("maven", "tests/jars.py", "1.2.0", "1.10.0"),
    ],
)
def test_no_line_for_the_newest_release(
    tree: Path, capsys: pytest.CaptureFixture[str], kind: str, file: str, old: str, new: str
) -> None:
    (tree / file).write_text((tree / file).read_text().replace(old, new))
    assert main([kind], tree) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", LINES)
def test_an_index_without_the_package_is_no_answer(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(Index, "pages", {})
    assert main([kind], tree) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"barnabas: {kind}: ")
    assert printed.err.count("\n") == 1


def test_a_client_that_is_missing_is_named_and_the_others_are_asked(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda program: None if program == "go" else found(program))
    assert main(["go", "maven"], tree) == 1
    assert capsys.readouterr() == (LINES["maven"], "barnabas: go: there is no go\n")


def test_a_client_that_does_not_answer_is_ended(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(asking, "LIMIT_S", 0.2)
    (tmp_path / "programs" / "mvn").write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    assert main(["maven"], tree) == 1
    assert capsys.readouterr().err == ("barnabas: maven: mvn failed with status 124: error: no answer within 0.2 s\n")


def test_an_unknown_kind_is_wrong_usage(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ruby"], tree) == 2
    assert capsys.readouterr().err == "barnabas: ruby is not one of python, go, npm, maven\n"
