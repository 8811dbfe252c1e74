"""Frames, the adapters for tables of each library: they take a selection of rows and return the caller's kind."""
