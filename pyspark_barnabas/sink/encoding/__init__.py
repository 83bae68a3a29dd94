"""From rows to record batches, one partition each: by columns with numpy, or row by row."""
