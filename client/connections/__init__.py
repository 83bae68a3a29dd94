"""One connection to one broker, the network below it, and the versions that both sides support."""
