#!/bin/sh
# avro's compatibility checker for Python takes an alias without a namespace for a full name.
#
# Software: avro 1.12.2; Python 3.9 or later.
# Expected: as the specification says, an alias "R" of a type in the namespace "first" is the full name first.R. So a
#   reader's first.Q with the alias "R" reads what a writer's first.R wrote, and not what a writer's R without a
#   namespace wrote. Java's SchemaCompatibility of the same release says so.
# Seen: the opposite of both.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
environment/bin/pip install --quiet avro==1.12.2 2>log || { cat log; exit 1; }
cat > finding.py <<'PY'
import json
import sys

import avro.schema
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType


def reads(writer):
    reader = {"type": "record", "name": "Q", "namespace": "first", "aliases": ["R"], "fields": []}
    schemas = [avro.schema.parse(json.dumps(each)) for each in (reader, {"type": "record", "fields": [], **writer})]
    result = ReaderWriterCompatibilityChecker().get_compatibility(*schemas)
    return result.compatibility is SchemaCompatibilityType.compatible


seen = {"first.R": reads({"name": "R", "namespace": "first"}), "R": reads({"name": "R"})}
for name, is_read in seen.items():
    print(f"avro 1.12.2: first.Q with the alias R reads {name}: {is_read}")
if seen != {"first.R": False, "R": True}:
    print("the behaviour has changed")
    sys.exit(1)
PY
environment/bin/python finding.py
