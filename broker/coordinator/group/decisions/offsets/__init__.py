"""The decisions about committed offsets: plain ones, those of open transactions, and their topics. Pure."""
