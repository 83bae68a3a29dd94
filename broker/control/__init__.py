"""Control of a running broker's behaviour: faults, its clock, and the locks of share groups."""
