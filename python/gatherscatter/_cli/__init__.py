"""The commands of `python -m gatherscatter`; importing gatherscatter does not import them."""
