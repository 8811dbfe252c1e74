"""gatherscatter_cuda: the kernels of gatherscatter for NVIDIA GPUs. gatherscatter imports them when it needs them."""
