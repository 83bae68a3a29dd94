"""The versions of Java's client that transactional programs are written with: the newest and the oldest, or all."""

import pytest

from tests.support.kafka.jars import CLIENT_VERSIONS

NEWEST_AND_OLDEST = [
    pytest.param(version, marks=() if version in (CLIENT_VERSIONS[0], CLIENT_VERSIONS[-1]) else pytest.mark.long)
    for version in CLIENT_VERSIONS
]
