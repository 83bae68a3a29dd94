"""One file per API, named by the API. Handlers do not import each other."""
