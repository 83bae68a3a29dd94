"""What every group of tests shares: property tests that are the same in every run and stay within their budget."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fast", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fast")
