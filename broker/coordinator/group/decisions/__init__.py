"""What a group does with a request: pure, from its state to the next one."""
