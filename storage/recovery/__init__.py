"""Opening a log after a clean stop, a kill or a power cut. `cases` is the table of what may be found."""
