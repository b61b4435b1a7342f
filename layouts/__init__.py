"""Layouts, ownerships and instruction tables: pure values that import nothing but the standard library."""
