"""Options of the sink and the sources, and the errors that people read."""
