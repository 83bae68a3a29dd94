"""What questions are answered from, besides the broker's state: what happened, and what faults hold up."""
