"""What pages draw: where each line, cell and mark of an SVG stands. Pure."""
