"""Puts compiled modules into a wheel: a hook of hatchling, which is off unless HATCH_BUILD_HOOK_ENABLE_CUSTOM is true.

The modules in barnabas/compiled for the Python that builds go in, if they fit the sources. The manifest names the
sources of compiled modules alone, without times: an installer of a wheel gives files its own times, and replaces all of
them together. The wheel is then for this Python and platform. Everywhere else it is the pure wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the modules to the build; hatchling calls it before it builds."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from barnabas import form

        package = Path(self.root, "barnabas")
        compiled = package / "compiled" / form.TAG
        modules = sorted(form.usable_modules(str(compiled), str(package)))  # NotUsable ends the build
        paths = [f"{module.removeprefix('barnabas.').replace('.', '/')}.py" for module in modules]
        sources = [form.source_line(str(package), path, with_time=False) for path in paths]
        manifest = Path(self.root, "build", "mypyc", form.TAG, "manifest")
        manifest.parent.mkdir(parents=True, exist_ok=True)
        lines = [form.MANIFEST_VERSION, *(f"module {module}" for module in modules), *sources]
        manifest.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

        inside = f"barnabas/compiled/{form.TAG}"
        included = {str(file): f"{inside}/{file.relative_to(compiled)}" for file in compiled.rglob("*.so")}
        build_data["force_include"] |= {**included, str(manifest): f"{inside}/{form.MANIFEST}"}
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
