"""The server: asyncio around pure decisions, on storage's segment files."""

if __name__ != "barnabas.broker":
    raise ImportError("import it as barnabas.broker: under two names every class would exist twice")
