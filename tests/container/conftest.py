"""The image is built once for all tests of it, and its size is told."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.processes.container import (
    BASE,
    IMAGE,
    Container,
    build_image,
    container,
    image_config,
    make_base,
    output,
)

SIZES = pytest.StashKey[str]()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell the image's size."""
    if SIZES in config.stash:
        terminalreporter.write_line(config.stash[SIZES])


@pytest.fixture(scope="session")
def image(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The image's configuration, as Docker keeps it."""
    make_base()
    build_image()
    size, base = (output("images", "--noheading", "--format", "{{.Size}}", name) for name in (IMAGE, BASE))
    request.config.stash[SIZES] = f"the image: {size} without optimization, of which its base is {base}"
    return image_config()


@pytest.fixture
def box(image: dict[str, Any]) -> Iterator[Container]:
    """A fresh container of it."""
    with container() as made:
        yield made
