"""A data directory in memory that was started, and a directory alone."""

import pytest

from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.directory import Directory
from tests.support.files.log_directories import start
from tests.support.files.memory_files import MemoryFiles


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def directory(files: MemoryFiles) -> LogDirectory:
    return start(files)


@pytest.fixture
def root() -> Directory:
    return MemoryFiles().with_directory().directory()
