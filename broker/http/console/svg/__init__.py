"""Drawings of pages: the positions of lines, cells and marks in an SVG. Pure."""
