"""`barnabas txn`: open transactions, and ending them."""
