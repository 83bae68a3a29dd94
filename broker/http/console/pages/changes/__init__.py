"""Actions of the pages about topics, groups and messages, each behind a form of such a page."""
