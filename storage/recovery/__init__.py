"""Opening a log after a clean stop, a kill or a power cut. cases.py decides what is done about what is found."""
