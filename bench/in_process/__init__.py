"""What is measured inside one process, without sockets: processor time for each request, and memory."""
