"""Record batches (format v2), records, compression, control records."""
