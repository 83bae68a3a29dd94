"""Opening a log after a clean stop, a kill or a power cut. cases.py decides how each finding is handled."""
