"""`python -m docs.generate [PAGE…]`: write these pages of docs/, or all that are generated."""

import argparse
import sys

from docs.generate.pages import DOCS, PAGES


def main(arguments: list[str]) -> int:
    """Write the pages and print the names of those that have changed."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description="Write the generated pages of docs/.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"all unless given: {', '.join(PAGES)}")
    names = parser.parse_args(arguments).pages or list(PAGES)
    if unknown := sorted(set(names) - PAGES.keys()):
        parser.error(f"not generated: {', '.join(unknown)}")
    for name in names:
        place = DOCS / name
        written = place.read_text(encoding="utf-8")
        generated = PAGES[name](written)
        if generated != written:
            place.write_text(generated, encoding="utf-8")
            sys.stdout.write(f"docs/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
