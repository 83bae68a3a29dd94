"""Nodes, leaders and coordinators: what is asked before a partition or a key is served, and what clients see of it."""
