"""The server: asyncio around pure decisions, on storage's segment files."""
