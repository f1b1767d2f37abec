"""Hypothesis without deadlines: a busy machine must not fail a test."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "wmt", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("wmt")
