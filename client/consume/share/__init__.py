"""Consuming as a member of a share group (KIP-932): records one by one, acknowledged one by one."""
