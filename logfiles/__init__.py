"""The log files of a data directory: read batch by batch, and checked, without a broker. No event loop, no Spark."""

if __name__ != "barnabas.logfiles":
    raise ImportError("import it as barnabas.logfiles: under two names every class would exist twice")
