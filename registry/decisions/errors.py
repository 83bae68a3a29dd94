"""The refusals of the registry: HTTP status, error code and message, as Confluent's API documents them."""

from __future__ import annotations


class RegistryError(Exception):
    """A refusal. status: of HTTP. error_code: Confluent's, whose first three digits are the status, or the status."""

    def __init__(self, status: int, error_code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code
        self.message = message


def http_error(status: int, message: str) -> RegistryError:
    """Refuse with a status that has no code of its own."""
    return RegistryError(status, status, message)


def subject_not_found(subject: str | None) -> RegistryError:
    """Refuse: no version of the subject exists."""
    return RegistryError(404, 40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    """Refuse: the subject has no such version."""
    return RegistryError(404, 40402, f"Version {version} not found.")


def schema_not_found(wanted: int | str | None = None) -> RegistryError:
    """Refuse: no schema has this id or guid, or this content in the subject."""
    return RegistryError(404, 40403, "Schema not found" if wanted is None else f"Schema {wanted} not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    """Refuse: all versions are marked as deleted already."""
    why = f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    return RegistryError(404, 40404, why)


def subject_not_soft_deleted(subject: str) -> RegistryError:
    """Refuse: it has to be marked as deleted first."""
    return RegistryError(404, 40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    """Refuse: the version is marked as deleted already."""
    why = f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently"
    return RegistryError(404, 40406, why)


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    """Refuse: it has to be marked as deleted first."""
    why = f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    return RegistryError(404, 40407, why)


def config_not_set(subject: str) -> RegistryError:
    """Refuse: the subject has no compatibility level of its own."""
    return RegistryError(404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def mode_not_set(subject: str | None) -> RegistryError:
    """Refuse: the subject has no mode of its own."""
    return RegistryError(404, 40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, reasons: str) -> RegistryError:
    """Refuse: the schema is not compatible with an earlier version."""
    why = f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {reasons}'
    return RegistryError(409, 40901, why)


def invalid_schema(why: str) -> RegistryError:
    """Refuse: the text is no valid schema, or its references do not fit."""
    return RegistryError(422, 42201, why)


def invalid_version(version: object) -> RegistryError:
    """Refuse: a word that is no version."""
    why = f"The specified version '{version}' is not a valid version id. "
    return RegistryError(422, 42202, why + 'Allowed values are between [1, 2^31-1] and the string "latest"')


def invalid_compatibility_level() -> RegistryError:
    """Refuse: a word that is no compatibility level."""
    why = "Invalid compatibility level. Valid values are none, backward, forward, full, "
    return RegistryError(422, 42203, why + "backward_transitive, forward_transitive, and full_transitive")


def invalid_mode(why: str = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.") -> RegistryError:
    """Refuse: a word that is no mode, or a mode that is not for this place."""
    return RegistryError(422, 42204, why)


def not_permitted(why: str) -> RegistryError:
    """Refuse: the mode does not allow it."""
    return RegistryError(422, 42205, why)


def reference_exists(subject: str, version: int) -> RegistryError:
    """Refuse: other schemas refer to the version."""
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return RegistryError(422, 42206, f"One or more references exist to the schema {key}.")


def invalid_subject(subject: str) -> RegistryError:
    """Refuse: a name that no subject can have."""
    return RegistryError(422, 42208, f"The specified subject '{subject}' is not a valid.")


def schema_too_large() -> RegistryError:
    """Refuse: its record is larger than the topic allows."""
    return RegistryError(422, 42209, "Register operation failed because schema is too large")


def invalid_rule_set(why: str) -> RegistryError:
    """Refuse: the rule set has a mistake."""
    return RegistryError(422, 42210, why)


def context_not_empty(context: str) -> RegistryError:
    """Refuse: a context with subjects cannot be deleted."""
    return RegistryError(422, 42211, f"The specified context '{context}' is not empty.")


def store_failed(why: str) -> RegistryError:
    """Refuse: the record could not be written."""
    return RegistryError(500, 50001, why)
