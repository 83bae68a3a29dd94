"""The nodes of one process: each with its sockets, and the parts they share."""
