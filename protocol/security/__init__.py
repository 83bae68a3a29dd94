"""The common part of both sides of a secured connection: the format of login modules, and the formulas of SCRAM.

Pure: no sockets, no files, no clock. Nothing here is imported if no security is configured.
"""
