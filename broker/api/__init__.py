"""Which APIs are offered, and the way of a request through them."""
