"""Spark's Python workers: which Python they run, their connections to the JVM, and their memory."""
