"""What people read: errors, and lines of the log."""
