"""The code that runs beside the broker: in a process of ours, or on request in a thread. Imports the broker."""
