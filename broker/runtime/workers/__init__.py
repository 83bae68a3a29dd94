"""Long work over records beside the event loop: helper processes, and jobs that are done in them."""
