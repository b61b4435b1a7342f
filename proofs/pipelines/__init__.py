"""Barrier protocols of kernels with roles: schedules, and all that can happen under them."""
