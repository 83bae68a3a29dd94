"""What a broker tells over HTTP: whether it lives, whether it can be used, and its metrics. Off unless asked for.

`server` and `connection` speak HTTP/1.1 on the broker's event loop; `pages` knows which pages there are; `metrics/` is
the table of metrics and what each is read from. Nothing here is imported by a broker without `--http`, and the metrics
only when they are first asked for.
"""
