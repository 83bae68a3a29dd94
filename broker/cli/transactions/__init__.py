"""`barnabas txn`: transactions that are open, and ending them."""
