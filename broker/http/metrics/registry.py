"""The schema registry: its subjects and versions, and the answers to its requests."""

from __future__ import annotations

from barnabas.broker.http.metrics.sources import Readings, Sources

_ERRORS_FROM = 400


def read_registry(sources: Sources, readings: Readings) -> None:
    """Add the values of the schema registry, if there is one."""
    figures = sources.registry
    if figures is None:
        return
    readings.add("kafka_schema_registry_registered_count", sum(figures.created.values()))
    readings.add("kafka_schema_registry_deleted_count", sum(figures.deleted.values()))
    for schema_type, count in sorted(figures.created.items()):
        readings.add("kafka_schema_registry_schemas_created", count, schema_type.lower())
    for schema_type, count in sorted(figures.deleted.items()):
        readings.add("kafka_schema_registry_schemas_deleted", count, schema_type.lower())
    failures = sum(count for status, count in figures.answers.items() if status >= _ERRORS_FROM)
    readings.add("kafka_schema_registry_api_success_count", sum(figures.answers.values()) - failures)
    readings.add("kafka_schema_registry_api_failure_count", failures)
    for status, count in sorted(figures.answers.items()):
        readings.add("barnabas_registry_requests_total", count, status)
    readings.add("barnabas_registry_subjects", figures.subjects)
