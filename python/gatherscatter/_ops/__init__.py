"""The operators of this package, and plans of them."""
