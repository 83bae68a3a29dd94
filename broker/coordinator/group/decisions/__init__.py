"""The decisions about one group: pure functions from its state to the next one."""
