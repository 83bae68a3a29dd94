"""A directory in memory, and the files that it is in."""

import pytest

from barnabas.storage.disk.directory import Directory
from tests.support.files.memory_files import MemoryFiles


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles().with_directory()


@pytest.fixture
def root(files: MemoryFiles) -> Directory:
    return files.directory(open_files_max=10)
