"""The demo of gatherscatter, `python -m gatherscatter demo`; importing gatherscatter does not import it."""
