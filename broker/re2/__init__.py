"""Regular expressions as Kafka takes them (RE2), in time linear in the text: for patterns that strangers send.

`compile_pattern(text).matches(name)` is whether the pattern matches the whole name. Python's own `re` would take
exponential time for some patterns, and knows others (backreferences, lookaround) that Kafka refuses.
"""

from broker.re2.machine import Pattern, compile_pattern
from broker.re2.syntax import InvalidPattern

__all__ = ["InvalidPattern", "Pattern", "compile_pattern"]
