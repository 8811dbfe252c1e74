"""The commands `info` and `tune` of `python -m gatherscatter`; importing gatherscatter does not import them."""
