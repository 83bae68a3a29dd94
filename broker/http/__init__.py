"""The broker's pages over HTTP: liveness, readiness and metrics. Off by default.

`server` and `connection` speak HTTP/1.1 on the broker's event loop; `pages` maps paths to pages; `metrics/` has the
table of metrics and the readers of their values. A broker without `--http` imports nothing from here, and the metrics
are imported at the first scrape.
"""
