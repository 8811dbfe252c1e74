"""Strict faces: every source document's own names, order, defaults, accepted dtypes and exceptions.

They check what their document demands and hand over to the operators of this package; none has arithmetic of its own.
"""

from gatherscatter.compat import cutile, libcudf, mindspore, pypto

__all__ = ["cutile", "libcudf", "mindspore", "pypto"]
