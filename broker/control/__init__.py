"""What changes how a broker behaves while it runs: faults, and its clock."""
