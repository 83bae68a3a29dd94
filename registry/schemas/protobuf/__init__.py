"""Protobuf: .proto files parsed, printed and compared as Confluent's registry does, and descriptors of them."""
