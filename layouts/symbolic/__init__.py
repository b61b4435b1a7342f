"""Layouts whose sizes are symbols. sympy is imported only here, and only when a symbol is met."""
