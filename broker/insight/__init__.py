"""The broker's account of itself: its present state, its recent events, and the reasons for waits."""
