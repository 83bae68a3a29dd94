#!/bin/sh
# CloudEvents' SDK for Python fails to read an event from Kafka if the record's key is not text, such as the number 200.
#
# Software: cloudevents 2.2.0; Python 3.10 or later. The keys are as Java's LongSerializer writes them.
# Expected: the key of a Kafka record is bytes, and an event's attributes are in the headers or the value. A producer
#   may choose any key by its key mapper, which must not add an attribute (Kafka Protocol Binding, 3.1); the SDK takes
#   bytes from it. A reader then needs no key.
# Seen: an event that the SDK itself writes with the number 100 as its key is read with an attribute that it did not
#   have, partitionkey "\0\0\0\0\0\0\0d". With the key 200 reading raises UnicodeDecodeError, in binary and in
#   structured mode: a consumer works until the first key from 128 to 255.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
environment/bin/pip install --quiet cloudevents==2.2.0 2>log || { cat log; exit 1; }
cat > finding.py <<'PY'
import struct
import sys

from cloudevents.core.bindings import kafka
from cloudevents.core.v1.event import CloudEvent


def read(mode, key):
    """What the SDK reads of an event that it has written with this key."""
    event = CloudEvent({"type": "finding", "source": "/finding", "id": "1", "specversion": "1.0"}, {})
    write, parse = getattr(kafka, f"to_{mode}_event"), getattr(kafka, f"from_{mode}_event")
    message = write(event, key_mapper=lambda _: struct.pack(">q", key))
    try:
        return parse(message).get_extension("partitionkey")
    except UnicodeDecodeError as error:
        return type(error).__name__


seen = {(mode, key): read(mode, key) for mode in ("binary", "structured") for key in (100, 200)}
for (mode, key), result in seen.items():
    print(f"cloudevents 2.2.0, {mode} mode, key {key}: {result!r}")
if list(seen.values()) != ["\0\0\0\0\0\0\0d", "UnicodeDecodeError"] * 2:
    print("the behaviour has changed")
    sys.exit(1)
PY
environment/bin/python finding.py
