"""The variables of container images that name TLS files: KAFKA_SSL_KEYSTORE_FILENAME, KAFKA_SSL_KEY_CREDENTIALS, ….

As in Apache Kafka's and Confluent's images the files are in one directory, /etc/kafka/secrets, or in the one that
BARNABAS_SECRETS_DIR names. The file name of a store gives its location; a credentials file contains its password.
Imported only if one of them is set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

DIRECTORY = "/etc/kafka/secrets"
DIRECTORY_VARIABLE = "BARNABAS_SECRETS_DIR"
_FILES = {
    "KAFKA_SSL_KEYSTORE_FILENAME": "KAFKA_SSL_KEYSTORE_LOCATION",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "KAFKA_SSL_TRUSTSTORE_LOCATION",
}
_CREDENTIALS = {
    "KAFKA_SSL_KEY_CREDENTIALS": "KAFKA_SSL_KEY_PASSWORD",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "KAFKA_SSL_KEYSTORE_PASSWORD",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "KAFKA_SSL_TRUSTSTORE_PASSWORD",
}


def with_secrets(variables: Mapping[str, str], read: Callable[[str], str]) -> dict[str, str]:
    """Return `variables` and the settings from the files that they name. ValueError, a sentence, if a file is missing.

    `read`: returns the text of a file; OSError.
    """
    directory = variables.get(DIRECTORY_VARIABLE) or DIRECTORY
    found = dict(variables)
    for variable, stands_for in (_FILES | _CREDENTIALS).items():
        named = variables.get(variable)
        if not named:
            continue
        if variables.get(stands_for):
            raise ValueError(f"{variable} and {stands_for} are one setting: remove one")
        path = os.path.join(directory, named)
        if variable in _FILES:
            found[stands_for] = path
            continue
        try:
            found[stands_for] = read(path).rstrip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{variable}: {path} cannot be read") from error
    return found
