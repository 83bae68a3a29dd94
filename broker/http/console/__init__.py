"""The console: pages in a browser that show a broker's state, and allow some changes with --control.

HTML is rendered on the server; an open page is sent its live part again when that has changed. Nothing of this is
imported before the first request to /console. `queries/` reads the broker, `pages/` converts it to the values of a
template, `application` combines the pages and controls access.
"""
