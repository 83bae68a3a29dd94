"""From JSON to a plan: parsed, checked against the broker, and refused in one sentence if it is invalid."""
