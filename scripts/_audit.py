"""Ask a vulnerability service about every package of the locks, once a day: the last but one line of scripts/check.

Prints `dependencies: ok`, which packages have a known weakness (exit status 1), or that no service answered: a
machine that reaches no such service learns nothing, which is not a failure of the code.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REMEMBERED = ROOT / ".cache" / "audit.json"
_TIMEOUT_S = 60


def main() -> int:
    locks = sorted((ROOT / "requirements").glob("*.txt"))
    contents = b"".join(path.read_bytes() for path in locks)
    about = f"{hashlib.sha256(contents).hexdigest()} on {time.time() // 86_400:.0f}"
    packages = _remembered(about)
    if packages is None:
        packages = [package for lock in locks for package in _requested(lock)]
        REMEMBERED.parent.mkdir(exist_ok=True)
        REMEMBERED.write_text(json.dumps([about, packages]))
    weak = {f"{package['name']} {package['version']}": package["vulns"] for package in packages if package.get("vulns")}
    for name, weaknesses in sorted(weak.items()):
        fixed = sorted({version for each in weaknesses for version in each["fix_versions"]})
        print(f"{name}: {', '.join(each['id'] for each in weaknesses)}; fixed in {', '.join(fixed) or 'none'}")
    if weak:
        print("dependencies: FAILED")
        return 1
    known = sum("skip_reason" not in package for package in packages)
    print("dependencies: ok" if known else "dependencies: not audited, no vulnerability service can be reached")
    return 0


def _remembered(about: str) -> list[dict[str, Any]] | None:
    try:
        remembered_about, packages = json.loads(REMEMBERED.read_text())
    except (OSError, ValueError):
        return None
    return packages if remembered_about == about else None


def _requested(lock: Path) -> list[dict[str, Any]]:
    """Return the known vulnerabilities of a lock's packages; nothing when no service answers."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--progress-spinner=off", "--timeout=5"]
    try:
        done = subprocess.run(
            [*command, "--format=json", f"--requirement={lock}"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError):
        return []
    return packages


if __name__ == "__main__":
    sys.exit(main())
