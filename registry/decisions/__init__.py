"""What the registry answers and writes: pure functions of its state and a request. They return records, or refuse."""
