"""The clients that make the load, in C, Java and Python, each a process of its own; the floor and kfake."""
