"""The state of the registry: the records of _schemas, and what follows from them. Pure: no clock, no I/O."""
