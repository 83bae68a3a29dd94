"""The decisions about one transaction: pure functions from its state to the next one."""
