"""Softmax of rows: requests, kernels, and which kernel answers which request."""
