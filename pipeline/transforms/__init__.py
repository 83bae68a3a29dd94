"""What the jobs do with rows: pure functions from DataFrame to DataFrame, with their schemas beside them."""
