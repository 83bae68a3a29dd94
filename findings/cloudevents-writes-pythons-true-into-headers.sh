#!/bin/sh
# CloudEvents' SDK for Python writes attributes into Kafka headers as Python prints them: True, and b'\x01\x02'.
#
# Software: cloudevents 2.2.0; Python 3.10 or later.
# Expected: a header has the string encoding that the specification gives the attribute's type: `true` or `false`, in
#   lower case, for a Boolean, and Base64 for Binary. Each SDK must convert from and to it.
# Seen: an event with the extension False has the header ce_sampled: False, and one with two bytes has
#   ce_digest: b'\x01\x02', in eleven characters. Read back by the same SDK both are strings, and "False" counts as true
#   in an `if`. In structured mode the Boolean is one of JSON, and bytes are refused with a TypeError.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
environment/bin/pip install --quiet cloudevents==2.2.0 2>log || { cat log; exit 1; }
cat > finding.py <<'PY'
import json
import sys

from cloudevents.core.bindings.kafka import from_binary_event, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent


def event(**extensions):
    attributes = {"type": "finding", "source": "/finding", "id": "1", "specversion": "1.0", **extensions}
    return CloudEvent(attributes, {})


sampled, digest = event(sampled=False), event(digest=b"\x01\x02")
binary = [to_binary_event(sampled).headers["ce_sampled"], to_binary_event(digest).headers["ce_digest"]]
read = from_binary_event(to_binary_event(sampled)).get_extension("sampled")
structured = json.loads(to_structured_event(sampled).value)["sampled"]
try:
    to_structured_event(digest)
    refused = False
except TypeError:
    refused = True
print(f"cloudevents 2.2.0, headers of False and of two bytes: {binary}; False read back: {read!r}")
print(f"in structured mode False is {structured}, and the bytes are refused: {refused}")
if (binary, read, structured, refused) != ([b"False", rb"b'\x01\x02'"], "False", False, True):
    print("the behaviour has changed")
    sys.exit(1)
PY
environment/bin/python finding.py
