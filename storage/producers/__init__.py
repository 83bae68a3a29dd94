"""What a log knows of its producers: their last batches, their open transactions, and snapshots of both."""
