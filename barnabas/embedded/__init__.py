"""A broker for tests: the object a user holds, and the process or thread that the broker runs in.

Knows nothing of pytest. Only `inside/`, which runs in the broker's own process or thread, imports the broker.
"""
