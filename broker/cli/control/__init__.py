"""Commands that query a running broker over HTTP: its clock, faults, trace and `why`."""
