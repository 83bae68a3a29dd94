"""Nodes, leaders and coordinators: checked before a partition or a key is served, and reported to clients."""
