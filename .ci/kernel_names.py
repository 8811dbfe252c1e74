"""kernel_names.py: short names of kernels for the checks: the kernel body, or the function of CUB."""

import re
import subprocess


def short_names(symbols):
    """The short name of each symbol."""
    names = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout
    short = {}
    for symbol, name in zip(symbols, names.splitlines(), strict=True):
        body = re.search(r"gs::cuda::run<(.*)>\(", name)
        function = re.search(r"(\w+)[<(]", name.split("detail::", 1)[-1].rsplit("::Kernel", 1)[0])
        short[symbol] = body[1].replace("gs::device::", "") if body else function[1] if function else name
    return short
