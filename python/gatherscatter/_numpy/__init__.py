"""NumPy's indexing functions on any array: a short way for plain arguments, and the general way for all others."""
