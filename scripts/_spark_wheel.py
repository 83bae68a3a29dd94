"""Builds the wheel `pyspark-barnabas`: a hook of hatchling, named in pyspark_barnabas/pyproject.toml."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SparkSide(BuildHookInterface[Any]):
    """Puts the tree of scripts/_spark_tree.py into the wheel, which has nothing else."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the tree to the build; hatchling calls it before it builds."""
        repository = Path(self.root).parent
        if self.target_name != "wheel" or version == "editable":
            raise ValueError(
                "of pyspark-barnabas only wheels are built here, as its sources are all over the repository: build one"
                " with `pip wheel`, an archive of the sources with scripts/release, or install the repository itself as"
                " editable"
            )
        sys.path.insert(0, str(repository))
        from scripts._spark_tree import modules

        self._scratch = tempfile.TemporaryDirectory()
        for path, content in modules(repository).items():
            file = Path(self._scratch.name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            build_data["force_include"][str(file)] = path

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the scratch directory; hatchling calls it when it has built."""
        self._scratch.cleanup()
