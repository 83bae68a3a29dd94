"""`barnabas doctor` examines a set-up, before a broker starts in it or while one runs, and explains problems.

Each module examines one thing and returns findings; nothing is changed, except that ports are bound for a moment. All
requests have timeouts.
"""
