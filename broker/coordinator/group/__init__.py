"""Classic consumer groups as pure decisions: no event loop, no clock, no randomness, no storage."""
