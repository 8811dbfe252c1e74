"""Gathers and scatters as linear maps: shapes, derivatives and batches of them, for every library with gradients."""
