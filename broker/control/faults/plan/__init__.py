"""From JSON to a plan: read, checked against what there is, and refused in one sentence where it makes no sense."""
