"""The attributes of a broker for its owner: its clock, faults, trace, and explanations (`why`)."""
