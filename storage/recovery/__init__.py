"""Opening a log after a clean stop, a kill or a power cut. recovery_decisions.py decides how to handle each finding."""
