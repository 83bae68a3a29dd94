"""The values of a YAML text. A field that stands twice in one mapping is an error: one of the two would be lost."""

from __future__ import annotations

from typing import Any

import yaml

from barnabas.broker.server.seeding.errors import SeedError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueLoader(_Loader):  # type: ignore[misc]  # of C or of Python, so of a type that is not known here
    """PyYAML's loader of plain values, which refuses a key that stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if len(found) < len(node.value):
            names = [key.value for key, _ in node.value]
            twice = next((key for key, _ in node.value if names.count(key.value) > 1), None)
            if twice is not None:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the field {twice.value} stands twice", twice.start_mark
                )
        return found


def yaml_values(text: str, path: str) -> object:
    """Return the values of this text of the file `path`. Raises SeedError."""
    try:
        return yaml.load(text, Loader=_UniqueLoader)  # nosec B506 - a loader of plain values
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark
        where = path if mark is None else f"{path}, line {mark.line + 1}"
        raise SeedError(f"{where}: {wrong.problem or 'this is not YAML'}") from wrong
    except (yaml.YAMLError, ValueError) as wrong:
        raise SeedError(f"{path}: this is not YAML: {str(wrong).splitlines()[0]}") from wrong
    except RecursionError as wrong:
        raise SeedError(f"{path}: its values are nested too deeply") from wrong
