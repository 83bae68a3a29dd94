"""The jobs, one module each: `python -m pipeline.jobs.validate --help`."""
