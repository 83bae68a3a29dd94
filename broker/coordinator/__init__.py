"""Coordinators: pure decisions, and one runtime that appends, replays, acts and answers."""
