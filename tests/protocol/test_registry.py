"""The table of APIs agrees with the classes it names, and costs nothing before they are asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import barnabas.protocol.messages
from barnabas.protocol.codec.schema import Request, Response
from barnabas.protocol.registry import ApiKey, request_codec, response_codec, spec


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_the_table_agrees_with_the_message_classes(key: ApiKey) -> None:
    api = spec(key)
    for message, base, codec_of in ((api.request, Request, request_codec), (api.response, Response, response_codec)):
        schema = message.__schema__
        assert issubclass(message, base)
        assert schema.key == key
        assert set(range(key.min_version, key.max_version + 1)) <= set(schema.valid_versions)
        for version in range(key.min_version, key.max_version + 1):
            assert schema.is_flexible(version) == key.is_flexible(version)
            assert codec_of(key, version).struct is message
    assert api[:5] == (key, key.api_name, key.min_version, key.max_version, key.flexible_since)


def test_every_file_of_messages_is_one_api() -> None:
    files = {path.stem for path in Path(barnabas.protocol.messages.__path__[0]).glob("[a-z]*.py")}
    assert files == {key.name.lower() for key in ApiKey}


def test_a_version_kafka_calls_unstable_has_a_codec_above_the_range() -> None:
    assert ApiKey.INIT_PRODUCER_ID.max_version == 5
    assert request_codec(ApiKey.INIT_PRODUCER_ID, 6).struct is spec(ApiKey.INIT_PRODUCER_ID).request
    assert [key for key in ApiKey if key.newest_version != key.max_version] == [ApiKey.INIT_PRODUCER_ID]
    with pytest.raises(ValueError, match="InitProducerId has no version 7, only 0 to 6"):
        request_codec(ApiKey.INIT_PRODUCER_ID, 7)


@pytest.mark.parametrize("key", [4, 63, 1000, -1])
def test_an_unknown_key_is_a_value_error(key: int) -> None:
    with pytest.raises(ValueError, match="is not a valid ApiKey"):
        spec(key)
    with pytest.raises(ValueError, match="is not a valid ApiKey"):
        request_codec(key, 0)


def test_only_produce_is_advertised_below_what_it_supports() -> None:
    lower = {key for key in ApiKey if key.advertised_min_version != key.min_version}
    assert lower == {ApiKey.PRODUCE}
    assert ApiKey.PRODUCE.advertised_min_version == 0


def test_importing_the_registry_imports_no_message() -> None:
    imports = "import sys, barnabas.protocol.registry, barnabas.protocol.headers"
    program = f"{imports}; print([m for m in sys.modules if 'messages.' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
