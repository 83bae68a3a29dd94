"""The server: asyncio around pure decisions, on storage's segment files."""

if __name__ != "barnabas.broker":
    raise ImportError("its name is barnabas.broker: under two names every class would be there twice")
