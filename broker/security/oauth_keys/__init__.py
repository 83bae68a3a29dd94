"""The keys that verify signed tokens: from a file or a server, and how they stay up to date.

Imported only where a listener takes signed tokens.
"""
