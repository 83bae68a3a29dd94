"""The group coordinator: classic and consumer groups decided without event loop, clock, randomness or storage."""
