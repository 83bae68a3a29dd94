"""Kafka's command-line tools, in one JVM."""

from tests.compat.conftest import tools as tools
