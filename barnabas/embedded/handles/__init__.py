"""What the owner of a broker holds of it: its clock, faults, trace, and answers to `why`."""
