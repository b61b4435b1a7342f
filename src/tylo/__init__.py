"""Tylo: layouts you can prove, kernels you can trust."""

__version__ = "0.1.0"
