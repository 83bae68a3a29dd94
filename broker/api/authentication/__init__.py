"""What a connection proves before its requests are served."""
