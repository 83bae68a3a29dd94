"""The stages around handlers: metrics, traces, quotas, and the decoding between them."""
