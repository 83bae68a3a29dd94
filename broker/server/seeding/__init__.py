"""Seeds: a document that says what a new broker holds. Read, checked, applied through the APIs, and written again.

`document.py` has its shape, `reading.py` reads it from YAML or JSON, `applying.py` applies it as a client does.
"""
