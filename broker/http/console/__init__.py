"""The console: pages in a browser that show what a broker holds, and let whoever has --control change some of it.

HTML is made here, on the server; a page that is left open is sent its live part again when that has changed. Nothing of
this is imported before somebody asks for /console. `looking/` reads the broker, `pages/` makes of it what a template
shows, `application` puts the pages together and lets in who may be.
"""
