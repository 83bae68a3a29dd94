"""What both sides of a secured connection share: how login modules are written, and the formulas of SCRAM.

Pure: no sockets, no files, no clock. Nothing here is imported where no security is configured.
"""
