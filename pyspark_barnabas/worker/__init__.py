"""Spark's Python workers: which Python they are, their connections to the JVM, and what they keep."""
