"""What a broker can tell about itself: what there is, what happened, and why something waits."""
