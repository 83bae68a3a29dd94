"""How a cluster is reached, and the clients of this process."""
