"""The schema registry in the broker's process: its topic `_schemas`, and its own HTTP listener. Off by default."""
