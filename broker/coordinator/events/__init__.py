"""What coordinators decide, put in events: pure but for the telling, and loaded when somebody listens."""
