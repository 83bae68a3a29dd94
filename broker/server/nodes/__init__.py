"""The nodes of one process: each with its sockets, and what they share."""
