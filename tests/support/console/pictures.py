"""The pictures in docs/console.md: `.venv/bin/python -m tests.support.console.pictures` takes them again.

They are pages of a real broker with a scene of stock clients on it. Each has to stay below 150 kB.
"""

import sys
import tempfile
from pathlib import Path

from tests.support.console.browser import chromium
from tests.support.console.scene import Scene
from tests.support.console.served import Served
from tests.support.source_tree import ROOT

BYTES_MAX = 150_000
PICTURES = {
    "transactions": "/transactions",
    "transaction": "/transaction?id=checkout-7",
    "partition": "/topics/orders/0?at=84",
    "messages": "/topics/orders/0/messages?from=40",
    "group": "/group?id=order-readers",
    "why": "/why",
    "faults": "/faults",
    "clock": "/clock",
}
_WIDTH, _HEIGHT = 1200, 760
_HEIGHTS = {"faults": 1340}
_HELD = {"name": "torn", "match": {"point": "transaction.marker_written", "position": 1}, "do": {"pause": True}}
_GONE = {"name": "lost", "match": {"point": "transaction.completed", "transactional_id": "x"}, "do": {"crash": True}}
_SETTLED_MS = 500  # until an open page is live


def main(folder: Path = ROOT / "docs" / "images") -> None:
    """Take them all."""
    folder.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        Served(Path(data)) as served,
        Scene(served.address) as scene,
        chromium() as browser,
    ):
        page = browser.new_page()
        for name, path in PICTURES.items():
            page.set_viewport_size({"width": _WIDTH, "height": _HEIGHTS.get(name, _HEIGHT)})
            if name == "faults":
                served.control("faults", {"version": 1, "faults": [_HELD, _GONE]})
                scene.begin("payments").commit_transaction(30)
            page.goto(f"{served.console}{path}")
            page.wait_for_load_state("load")
            page.wait_for_timeout(_SETTLED_MS)
            picture = folder / f"{name}.png"
            picture.write_bytes(page.screenshot())
            size = picture.stat().st_size
            print(f"{picture.name}: {size} bytes")
            if size > BYTES_MAX:
                sys.exit(f"{picture.name} has more than {BYTES_MAX} bytes")


if __name__ == "__main__":
    main()
