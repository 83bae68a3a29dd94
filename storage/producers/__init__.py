"""What a log knows of its producers: their last batches and open transactions, and the snapshots that keep both."""
