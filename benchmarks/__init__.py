"""The benchmark suite: us, our peers and the machine's own limit, timed in one run (`python -m benchmarks`)."""
