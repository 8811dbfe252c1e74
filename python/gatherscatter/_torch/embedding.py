"""embedding.py: `Embedding`, a table of vectors that a model learns, read and differentiated by our operators."""

from __future__ import annotations

from typing import Any

from gatherscatter._libraries.of_xarray import values_in
from gatherscatter._ops.gather import gather
from gatherscatter._ops.plan import Plan, plan
from gatherscatter._torch import torch
from gatherscatter._torch.plans import private_copy
from gatherscatter._torch.route import as_tensor
from gatherscatter._values.integers import one_integer
from gatherscatter.errors import shown, type_name

__all__ = ["Embedding"]

_Module: Any = torch.nn.Module


class Embedding(_Module):  # type: ignore[misc]  # torch's types are not read
    """A table of vectors, of which a call reads those with the given numbers.

    It is `torch.nn.Embedding` with checked numbers, and with gradients that have the same bytes in every run and for
    every number of threads, on GPUs too. The parameter has the same name, so each loads the state of the other::

        result[i, j, :] = weight[ids[i, j], :]

    The gradient of a row is the sum over all numbers that read it, in the order of `ids`; one backward pass sorts `ids`
    at most once.

    Parameters
    ----------
    num_embeddings : int
        The number of vectors.
    embedding_dim : int
        The size of each vector.
    padding_idx : int, optional
        The number of a vector that is 0 at first and has no gradient; a negative one counts from the end.
    device, dtype : optional
        Of `weight`, as in torch.

    Attributes
    ----------
    weight : torch.nn.Parameter, shape (num_embeddings, embedding_dim)
        Drawn from the standard normal distribution.

    Raises
    ------
    TypeError
        If `padding_idx` is no integer.
    ValueError
        If `padding_idx` is not in ``[-num_embeddings, num_embeddings)``.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter.torch import Embedding
    >>> table = Embedding(5, 2)
    >>> ids = torch.tensor([[3, 0, 3]])
    >>> table(ids).shape
    torch.Size([1, 3, 2])
    >>> table(ids).sum().backward()
    >>> table.weight.grad[:, 0].tolist()
    [1.0, 0.0, 0.0, 2.0, 0.0]
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            padding_idx = one_integer("Embedding", "padding_idx", padding_idx)
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"Embedding: padding_idx {padding_idx} is not in [{-num_embeddings}, {num_embeddings})"
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.weight = torch.nn.Parameter(torch.empty((num_embeddings, embedding_dim), device=device, dtype=dtype))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """Make a table of vectors that exist.

        Parameters
        ----------
        embeddings : torch.Tensor, shape (num_embeddings, embedding_dim)
            Becomes `weight`, without a copy.
        freeze : bool, default True
            Whether `weight` gets no gradient.
        padding_idx : int, optional
            As in the class; its vector stays as it is.

        Returns
        -------
        Embedding
            With these vectors.

        Raises
        ------
        TypeError
            If `embeddings` is no tensor, or if it has integers and `freeze` is False.
        ValueError
            If `embeddings` has another rank than 2.
        """
        if not isinstance(embeddings, torch.Tensor):
            raise TypeError(
                f"Embedding: embeddings is of type {type_name(embeddings)}, expected a tensor; "
                "torch.tensor(embeddings) makes one"
            )
        if embeddings.ndim != 2:
            raise ValueError(f"Embedding: embeddings has shape {tuple(embeddings.shape)}, expected two axes")
        if not (freeze or embeddings.is_floating_point() or embeddings.is_complex()):
            raise TypeError(
                f"Embedding: embeddings has dtype {embeddings.dtype}, which has no gradients; pass freeze=True, or "
                "embeddings.float()"
            )
        count, size = embeddings.shape
        made = cls(count, size, padding_idx, device="meta")
        made.weight = torch.nn.Parameter(embeddings, requires_grad=not freeze)
        return made

    def reset_parameters(self) -> None:
        """Draw `weight` from the standard normal distribution, and set the vector of `padding_idx` to 0."""
        torch.nn.init.normal_(self.weight)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def plan(self, ids: Any) -> Plan[Any]:
        """Check the geometry of a batch once, for all batches of its shape, dtype and strides.

        Parameters
        ----------
        ids : array of integers
            The first batch; its values are not read.

        Returns
        -------
        Plan
            To be passed with each batch, as `plan`. It depends on the geometry of `weight`, not on its values.

        Raises
        ------
        TypeError, ValueError
            As in `gather`.
        """
        return plan(gather, self.weight, ids, axis=0, negative="out_of_bounds")

    def forward(self, ids: Any, plan: Plan[Any] | None = None) -> Any:
        """Read the vectors with these numbers.

        Parameters
        ----------
        ids : array of integers, shape (..)
            Numbers in ``[0, num_embeddings)``, of any integer dtype and library.
        plan : Plan, optional
            Made by `plan` for a batch of the same geometry; the call then checks no shapes but compares them.

        Returns
        -------
        torch.Tensor, shape (.., embedding_dim)
            The vectors.

        Raises
        ------
        OutOfBoundsError
            If a number is negative or too large.
        TypeError, ValueError
            As in `gather`; a TypeError if `plan` is no plan, a ValueError if it was made for another geometry.
        """
        if plan is not None and not isinstance(plan, Plan):
            raise TypeError(f"Embedding: plan is {shown(plan)}, expected a plan that Embedding.plan made")
        ids = private_copy(ids)  # the padding is found by the numbers that were gathered
        rows = gather(self.weight, ids, axis=0, negative="out_of_bounds") if plan is None else plan(self.weight, ids)
        if self.padding_idx is None:
            return rows
        # In int64: a narrow dtype would wrap padding_idx around to the number of another vector.
        is_padding = _as_tensor(ids).to(rows.device, torch.int64) == self.padding_idx
        return torch.where(is_padding.unsqueeze(-1), rows.detach(), rows)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


def _as_tensor(ids: Any) -> Any:
    """Numbers that `gather` has read, as a tensor."""
    if hasattr(ids, "__cuda_array_interface__"):
        return torch.as_tensor(ids)
    return as_tensor("gather", "index", values_in(ids), None, False)
