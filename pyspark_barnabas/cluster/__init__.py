"""The connection to a cluster, and the clients of this process."""
