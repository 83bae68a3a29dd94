"""The keys that signed tokens are judged by: a file or a server of them, and how they stay fresh.

Imported only where a listener takes signed tokens.
"""
