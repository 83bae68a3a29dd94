"""From the batches of a Fetch to Arrow columns: which are visible, where their records are, and their contents."""
