"""The events of coordinators' decisions: pure but for the notification, and loaded when there is a listener."""
