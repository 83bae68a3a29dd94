"""`barnabas doctor` looks at a set-up, before a broker is started in it or while one runs, and explains what is broken.

Each module looks at one thing and returns findings; nothing it does changes anything, apart from ports that are taken
for a moment. Asking is bounded in time.
"""
