"""Every page that is generated, and the function that makes it of the page as it is.

Some pages are made as a whole and ignore what is written. In others one table is made, and all around it is written by
hand.
"""

from collections.abc import Callable, Mapping

from docs.generate import apis, config, control, differences, ecosystem, events, metrics, packages, planted_bugs, seeds
from tests.support.source_tree import ROOT

DOCS = ROOT / "docs"
DIFFERENCES = "differences.md"
PAGES: Mapping[str, Callable[[str], str]] = {
    "apis.md": lambda _: apis.page(),
    "architecture.md": packages.page,
    "config.md": lambda _: config.page(),
    "control.openapi.json": lambda _: control.page(),
    "ecosystem.md": lambda _: ecosystem.page(),
    "faults.md": events.page_of_faults,
    "metrics.md": lambda _: metrics.page(),
    "planted-bugs.md": lambda _: planted_bugs.page(),
    "seed.schema.json": lambda _: seeds.page(),
    "trace.md": events.page_of_trace,
    DIFFERENCES: differences.page,  # the last: a broker answers all recorded requests for it, which takes minutes
}
