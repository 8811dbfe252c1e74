"""The suite's cases on a GPU, beside torch, CuPy and JAX: `python -m benchmarks.gpu`."""
