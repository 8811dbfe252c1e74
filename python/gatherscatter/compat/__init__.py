"""Strict interfaces: the names, parameter order, defaults, dtypes and exceptions of each source document.

Each module checks the arguments by the rules of its document and calls the operators of this package; none computes
results itself.
"""

from gatherscatter.compat import cutile, libcudf, mindspore, pypto

__all__ = ["cutile", "libcudf", "mindspore", "pypto"]
