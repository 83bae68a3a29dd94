"""`--rewrite` lets the golden stories be told anew; commit the change only if you understand what caused it."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write the golden stories as they now are")
