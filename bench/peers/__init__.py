"""The brokers that are compared, each a process of its own, and what is read of them from outside."""
