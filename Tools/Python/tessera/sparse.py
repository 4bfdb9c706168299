"""Products of sparse matrices of SciPy: dox/SparseProducts.md.

>>> import scipy.sparse
>>> from tessera import sparse
>>> a = scipy.sparse.csr_array([[0.0, 2.0], [3.0, 0.0]])
>>> sparse.multiply(a, a).toarray()
array([[6., 0.],
       [0., 6.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._errors import UsageError
from ._work import finish, least_level, thread_count

__all__ = ["multiply"]


def _csr(matrix: Any, kind: Any, argument: str) -> tuple[Any, ...]:
    if not hasattr(matrix, "tocsr"):
        raise UsageError(
            f"{argument}: an object of type {type(matrix).__name__}. Allowed: a matrix or an array of scipy.sparse."
        )
    csr = matrix.tocsr()
    if not csr.has_canonical_format and csr is matrix:
        csr = csr.copy()
    csr.sum_duplicates()
    return (
        *csr.shape,
        np.ascontiguousarray(csr.indptr, dtype=np.uint64),
        np.ascontiguousarray(csr.indices, dtype=np.uint32),
        np.ascontiguousarray(csr.data, dtype=kind),
    )


def _kind(a: Any, b: Any) -> Any:
    """int64 for whole numbers, float32 where both are, else float64."""
    kind = np.result_type(a.dtype, b.dtype)
    if kind.kind in "bi" or kind.kind == "u" and kind.itemsize < 8:
        return np.int64
    if kind.kind == "f" and kind.itemsize <= 8:
        return np.float32 if kind == np.float32 else np.float64
    raise UsageError(f"a and b: values of type {kind}. Allowed: bool, whole numbers of int64, float32 and float64.")


def multiply(
    a: Any,
    b: Any,
    *,
    mask: Any = None,
    complement: bool = False,
    semiring: str = "plus-times",
    device: str = "cpu",
    threads: int | None = None,
) -> Any:
    """a @ b for sparse matrices of SciPy, as a ``csr_array`` with sorted columns.

    ``mask``: entries stay only where it has an entry or, with ``complement``, where it has none. ``semiring``:
    plus-times, or-and, min-plus, max-min or plus-pair. ``device``: "cpu", "cuda", "cuda:1" or "auto". The bits do not
    depend on ``threads``. Raises UsageError, InputError, OutOfMemory.
    """
    import scipy.sparse

    for matrix, argument in (a, "a"), (b, "b"):
        if not hasattr(matrix, "tocsr"):
            _csr(matrix, None, argument)
    kind = _kind(a, b)
    masked = None if mask is None else _csr(mask.astype(bool), kind, "mask")
    work = getattr(_core, f"multiply_{np.dtype(kind)}")(
        _csr(a, kind, "a"),
        _csr(b, kind, "b"),
        masked,
        complement,
        semiring,
        device,
        thread_count(threads)[0],
        least_level(),
    )
    rows, columns, starts, places, values = finish(work)
    small = np.int32 if max(columns, len(values)) < 2**31 else np.int64
    return scipy.sparse.csr_array((values, places.astype(small), starts.astype(small)), shape=(rows, columns))
