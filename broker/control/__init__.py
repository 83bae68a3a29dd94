"""Control of a running broker's behaviour: faults, and its clock."""
