"""What runs beside the broker: in a process of ours, or in a thread where a user asks for it. Imports the broker."""
