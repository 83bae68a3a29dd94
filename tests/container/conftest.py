"""The image is built once for all tests of it, and its size is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.container import BASE, IMAGE, Container, build_image, container, image_config, make_base, output

MB = 1_000_000


@pytest.fixture(scope="session")
def image(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The image's configuration, as Docker keeps it."""
    make_base()
    build_image()
    size, base = (
        int(output("inspect", "--type", "image", "--format", "{{.Docker.Size}}", each)) for each in (IMAGE, BASE)
    )
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    assert reporter is not None
    reporter.write_line(f"the image: {size / MB:.0f} MB, {(size - base) / MB:.0f} MB of it over the base")
    return image_config()


@pytest.fixture
def box(image: dict[str, Any]) -> Iterator[Container]:
    """A fresh container of it."""
    with container() as made:
        yield made
