"""scripts/test --changed: what is selected for a change, in small repositories, and that what is left out is named."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.testing.changed import NAME, TIDINESS, Selection, select
from scripts.testing.changes import Change, changes, python_change
from scripts.testing.groups import FAST, GROUPS

Write = Callable[[str, str], None]

GOLDEN = 'STORIES = Path(__file__).parents[2] / "golden" / "group"\n'
FILES = {
    "storage/log.py": "LIMIT = 5\n\n\ndef append(at):\n    return at\n\n\ndef read(at):\n    return at\n",
    "storage/whole.py": "from barnabas.storage import log\n",
    "broker/dispatch.py": 'import_module(f"barnabas.broker.api.handlers.{name}")\n',
    "broker/api/handlers/end_txn.py": "def handle():\n    return 1\n",
    "tests/support/worlds.py": "from barnabas.broker import dispatch\n",
    "tests/storage/test_log.py": "from barnabas.storage.log import read\n",
    "tests/storage/test_far.py": "import barnabas.storage.whole\n",
    "tests/broker/test_transactions.py": "from tests.support import worlds\n\nend_txn = EndTxnRequest()\n",
    "tests/broker/test_others.py": "from tests.support import worlds\n",
    "tests/broker/test_stories.py": GOLDEN,
    "tests/client/test_alone.py": "x = 1\n",
    "tests/compat/test_kcat.py": "from tests.support import worlds\n",
    "tests/compat/java/Member.java": "class Member {}\n",
    "tests/compat/test_java.py": 'RUN = "Member"\n',
    "tests/golden/group/a_member_leaves.txt": "> join\n",
    "docs/metrics.md": "# Metrics\n",
    "tests/broker/test_metrics.py": 'PAGE = "metrics.md"\n',
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    _git(tmp_path, "init", "--quiet")
    _commit(tmp_path)
    return tmp_path


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True)


def _commit(root: Path) -> None:
    _git(root, "add", "--all")
    _git(root, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message=state")


def _selected(root: Path, path: str, text: str | None, revision: str | None = None) -> Selection:
    """Return what is selected once `path` says `text`, or is gone."""
    file = root / path
    if text is None:
        file.unlink()
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return select(root, revision)


def test_nothing_runs_where_nothing_has_changed(root: Path) -> None:
    chosen = select(root, None)
    assert (chosen.changed, chosen.paths, chosen.to_run()) == ((), (), [])
    assert chosen.describe()[0] == "nothing has changed"


def test_a_comment_and_a_docstring_change_nothing(root: Path) -> None:
    text = '"""Says more."""\n' + FILES["storage/log.py"].replace(
        "    return at\n\n\ndef", '    "Adds."\n    return at  # as is\n\n\ndef'
    )
    assert _selected(root, "storage/log.py", text).changed == ()


def test_what_imports_a_changed_module_runs_the_nearest_first(root: Path) -> None:
    chosen = _selected(root, "storage/log.py", FILES["storage/log.py"].replace("LIMIT = 5", "LIMIT = 6"))
    assert chosen.paths == ("tests/storage/test_log.py", "tests/storage/test_far.py")
    assert chosen.reasons["tests/storage/test_log.py"] == "mirrors it"


def test_what_names_a_handler_runs_before_what_only_reaches_all_of_them(root: Path) -> None:
    chosen = _selected(root, "broker/api/handlers/end_txn.py", "def handle():\n    return 2\n")
    assert chosen.paths == ("tests/broker/test_transactions.py", "tests/broker/test_others.py")


def test_a_deleted_module_runs_what_still_imports_it(root: Path) -> None:
    chosen = _selected(root, "storage/log.py", None)
    assert set(chosen.paths) == {"tests/storage/test_log.py", "tests/storage/test_far.py"}


def test_a_new_module_runs_what_imports_it(root: Path) -> None:
    (root / "tests/client/test_alone.py").write_text("from barnabas.storage.fresh import new\n")
    _commit(root)
    assert _selected(root, "storage/fresh.py", "def new(): ...\n").paths[0] == "tests/client/test_alone.py"


def test_changed_and_new_tests_run_and_deleted_ones_do_not(root: Path) -> None:
    (root / "tests/storage/test_log.py").unlink()
    (root / "tests/storage/test_new.py").write_text("def test_new(): ...\n")
    chosen = _selected(root, "tests/client/test_alone.py", "x = 2\n")
    assert chosen.paths == ("tests/client/test_alone.py", "tests/storage/test_new.py")


def test_a_changed_test_with_real_clients_runs_in_its_group(root: Path) -> None:
    chosen = _selected(root, "tests/compat/test_kcat.py", "x = 2\n")
    assert (chosen.paths, chosen.parts) == ((), {"clients": ("tests/compat/test_kcat.py",)})
    (group,) = chosen.to_run()
    assert (group.name, group.paths, group.programs) == (
        "clients",
        ("tests/compat/test_kcat.py",),
        next(each.programs for each in GROUPS if each.name == "clients"),
    )


def test_a_changed_story_runs_what_reads_its_folder(root: Path) -> None:
    chosen = _selected(root, "tests/golden/group/a_member_leaves.txt", "> leave\n")
    assert "tests/broker/test_stories.py" in chosen.paths


def test_a_changed_document_runs_what_names_it_and_the_rules_for_every_file(root: Path) -> None:
    chosen = _selected(root, "docs/metrics.md", "# More\n")
    assert chosen.paths == (*TIDINESS, "tests/broker/test_metrics.py")


def test_a_program_in_another_language_runs_the_test_that_names_it(root: Path) -> None:
    chosen = _selected(root, "tests/compat/java/Member.java", "class Member { }\n")
    assert chosen.parts == {"clients": ("tests/compat/test_java.py",)}


def test_a_program_that_no_test_names_runs_its_whole_group(root: Path) -> None:
    chosen = _selected(root, "tests/compat/java/Other.java", "class Other {}\n")
    assert (chosen.groups, chosen.parts) == (("clients",), {})


@pytest.mark.parametrize(
    ("path", "group"), [("pyproject.toml", "check"), ("requirements/dev.txt", "check"), ("Dockerfile", "container")]
)
def test_what_decides_over_more_than_tests_runs_a_group(root: Path, path: str, group: str) -> None:
    chosen = _selected(root, path, "changed\n")
    assert chosen.groups == (group,)
    assert group not in chosen.left_out


def test_every_group_runs_or_is_left_out_with_a_reason(root: Path) -> None:
    chosen = _selected(root, "Dockerfile", "changed\n")
    named = {*chosen.groups, *chosen.left_out}
    assert named == {group.name for group in GROUPS if not group.is_left_out}
    assert all(chosen.left_out.values())
    lines = chosen.describe()
    assert all(any(line.startswith(f"leaves out {name}: ") for line in lines) for name in chosen.left_out)


def test_what_there_is_no_time_for_is_counted(root: Path) -> None:
    (root / "tests/storage/test_far.py").write_text("import barnabas.storage.whole\n" + "x = 1\n" * 100_000)
    _commit(root)
    chosen = _selected(root, "storage/log.py", FILES["storage/log.py"].replace("LIMIT = 5", "LIMIT = 6"))
    assert chosen.paths == ("tests/storage/test_log.py",)
    measured = next(group for group in GROUPS if group.is_measured)
    assert "1 more of its files" in chosen.left_out[measured.name]


def test_changes_since_a_revision_count_committed_and_uncommitted_ones(root: Path) -> None:
    (root / "tests/client/test_alone.py").write_text("x = 2\n")
    _commit(root)
    chosen = _selected(root, "tests/storage/test_far.py", "x = 1\n", "HEAD~1")
    assert chosen.paths == ("tests/client/test_alone.py", "tests/storage/test_far.py")


def test_the_selected_tests_run_in_the_pure_form_a_file_on_a_worker(root: Path) -> None:
    group = _selected(root, "storage/log.py", "LIMIT = 7\n").to_run()[0]
    assert (group.name, group.venv, group.form, group.workers, group.by_file) == (NAME, ".venv", "pure", 2, True)


def test_every_folder_of_fast_tests_may_be_selected_from() -> None:
    assert {path for group in GROUPS if group.is_measured for path in group.paths} == set(FAST)


def _module_change(names: set[str]) -> Change:
    return Change("f.py", names=frozenset(names), is_module_changed=True)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("A = 1\n\nclass C:\n    b = 2\n    def m(self): return 4\n", Change("f.py", functions=frozenset({"C.m"}))),
        ("A = 2\n\nclass C:\n    b = 2\n    def m(self): return 3\n", _module_change({"A"})),
        ("A = 1\n\nclass C:\n    b = 3\n    def m(self): return 3\n", _module_change({"b"})),
        ("A = 1\n\nclass C(D):\n    b = 2\n    def m(self): return 3\n", _module_change({"C"})),
        ("A = 1\n\nclass C:\n    b = 2\n    @d\n    def m(self): return 3\n", _module_change({"m"})),
        ("A = 1\n\nclass C:\n    b = 2\n", Change("f.py", functions=frozenset({"C.m"}))),
        ("A = 1\nclass C:\n b = 2\n def m(self): return 3\n def n(): 0\n", Change("f.py", added=frozenset({"C.n"}))),
        ("A = 1\nclass C:\n    'Says.'\n    b = 2\n    def m(self):\n        'Says.'\n        return 3  # so\n", None),
    ],
)
def test_what_differs_between_two_texts_of_a_module(new: str, expected: Change | None) -> None:
    old = "A = 1\n\nclass C:\n    b = 2\n    def m(self): return 3\n"
    assert python_change("f.py", old, new) == expected


def test_a_file_that_cannot_be_parsed_has_changed_whole(root: Path) -> None:
    (root / "storage/log.py").write_text("def append(:\n")
    assert changes(root, None) == (Change("storage/log.py", is_module_changed=True),)
