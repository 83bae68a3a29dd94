"""One file per API: request and response side by side, as data."""
