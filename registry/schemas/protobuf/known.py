"""The files that every schema may import without a reference: Google's well-known and common types, and Confluent's.

Only what they define counts here, not what is in it: names and kinds, by which references are resolved.
"""

from __future__ import annotations

from functools import cache

from barnabas.registry.schemas.protobuf.model import ProtoEnum, ProtoExtend, ProtoField, ProtoFile, ProtoMessage

# By package and path: messages (those within others with a dot), then enums.
_FILES = {
    "google.protobuf": {
        "google/protobuf/any.proto": ("Any", ""),
        "google/protobuf/api.proto": ("Api Method Mixin", ""),
        "google/protobuf/descriptor.proto": (
            "FileDescriptorSet FileDescriptorProto DescriptorProto DescriptorProto.ExtensionRange "
            "DescriptorProto.ReservedRange ExtensionRangeOptions FieldDescriptorProto OneofDescriptorProto "
            "EnumDescriptorProto EnumDescriptorProto.EnumReservedRange EnumValueDescriptorProto ServiceDescriptorProto "
            "MethodDescriptorProto FileOptions MessageOptions FieldOptions OneofOptions EnumOptions EnumValueOptions "
            "ServiceOptions MethodOptions UninterpretedOption UninterpretedOption.NamePart FeatureSet "
            "FeatureSetDefaults SourceCodeInfo SourceCodeInfo.Location GeneratedCodeInfo GeneratedCodeInfo.Annotation",
            "FieldDescriptorProto.Type FieldDescriptorProto.Label FileOptions.OptimizeMode FieldOptions.CType "
            "FieldOptions.JSType MethodOptions.IdempotencyLevel Edition",
        ),
        "google/protobuf/duration.proto": ("Duration", ""),
        "google/protobuf/empty.proto": ("Empty", ""),
        "google/protobuf/field_mask.proto": ("FieldMask", ""),
        "google/protobuf/source_context.proto": ("SourceContext", ""),
        "google/protobuf/struct.proto": ("Struct Value ListValue", "NullValue"),
        "google/protobuf/timestamp.proto": ("Timestamp", ""),
        "google/protobuf/type.proto": (
            "Type Field Enum EnumValue Option",
            "Syntax Field.Kind Field.Cardinality",
        ),
        "google/protobuf/wrappers.proto": (
            "DoubleValue FloatValue Int64Value UInt64Value Int32Value UInt32Value BoolValue StringValue BytesValue",
            "",
        ),
    },
    "google.type": {
        "google/type/calendar_period.proto": ("", "CalendarPeriod"),
        "google/type/color.proto": ("Color", ""),
        "google/type/date.proto": ("Date", ""),
        "google/type/datetime.proto": ("DateTime TimeZone", ""),
        "google/type/dayofweek.proto": ("", "DayOfWeek"),
        "google/type/decimal.proto": ("Decimal", ""),
        "google/type/expr.proto": ("Expr", ""),
        "google/type/fraction.proto": ("Fraction", ""),
        "google/type/interval.proto": ("Interval", ""),
        "google/type/latlng.proto": ("LatLng", ""),
        "google/type/money.proto": ("Money", ""),
        "google/type/month.proto": ("", "Month"),
        "google/type/phone_number.proto": ("PhoneNumber PhoneNumber.ShortCode", ""),
        "google/type/postal_address.proto": ("PostalAddress", ""),
        "google/type/quaternion.proto": ("Quaternion", ""),
        "google/type/timeofday.proto": ("TimeOfDay", ""),
    },
    "confluent": {"confluent/meta.proto": ("Meta", "")},
    "confluent.type": {
        "confluent/type/decimal.proto": ("Decimal", ""),
        "confluent/type/variant.proto": ("Variant", ""),
    },
}
_EXTENSIONS = ("file_meta", "message_meta", "field_meta", "enum_meta", "enum_value_meta")  # of confluent/meta.proto


@cache
def files() -> dict[str, ProtoFile]:
    """Return the files by their paths."""
    known = {
        path: _file(package, messages.split(), enums.split())
        for package, paths in _FILES.items()
        for path, (messages, enums) in paths.items()
    }
    fields = [ProtoField(name, "Meta", 1088) for name in _EXTENSIONS]
    known["confluent/meta.proto"].extends.append(ProtoExtend("google.protobuf.FileOptions", fields))
    return known


def _file(package: str, messages: list[str], enums: list[str]) -> ProtoFile:
    file = ProtoFile("proto3", package)
    made: dict[str, ProtoMessage] = {}
    for name in messages:
        outer, _, simple = name.rpartition(".")
        made[name] = ProtoMessage(simple)
        (made[outer].types if outer else file.types).append(made[name])
    for name in enums:
        outer, _, simple = name.rpartition(".")
        (made[outer].types if outer else file.types).append(ProtoEnum(simple))
    return file
