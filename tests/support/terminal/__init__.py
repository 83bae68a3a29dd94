"""The picture in the README: a session in a real terminal, recorded and drawn. `scripts/record_terminal` runs it."""
