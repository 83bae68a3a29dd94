"""`barnabas doctor` examines a set-up, before a broker starts in it or while one runs, and explains problems.

Each module examines one thing and returns findings; nothing is changed, except that ports are bound for a moment. All
requests have timeouts. An advertised address is tried, not compared: proxies, mapped ports and firewalls are in no
configuration. Only what prevents a broker from starting, or clients from using it, or loses data, is a problem; checks
with false alarms are soon ignored.
"""
