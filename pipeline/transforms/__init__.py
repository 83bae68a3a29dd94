"""The jobs' operations on rows: pure functions from DataFrame to DataFrame, with their schemas beside them."""
