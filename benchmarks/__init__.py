"""The benchmark suite: gatherscatter, other libraries and the machine's own limit, timed in one run."""
