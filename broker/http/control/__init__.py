"""What a test may do to a running broker over HTTP, where `serve --control` lets it: JSON over Starlette."""
