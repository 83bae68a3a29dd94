"""The authentication of a connection before its requests are served."""
