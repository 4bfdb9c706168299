"""Arrays of torch and cupy on a GPU, which stay there."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core


def is_there(kind: str, device: Any) -> bool:
    """Whether an array of this package on this device is one that the extension can take."""
    return bool(_core.WITH_CUDA) and (kind == "cupy" or (kind == "torch" and device.type == "cuda"))


def readable(kind: str, thing: Any) -> Any:
    """The array in a type and an order that the extension takes."""
    if kind == "torch":
        array = thing.detach()
        return (array.float() if array.is_floating_point() and array.itemsize == 2 else array).contiguous()
    import cupy

    with thing.device:
        return cupy.ascontiguousarray(thing.astype(cupy.float32) if thing.dtype == cupy.float16 else thing)


def copied(kind: str, device: Any, array: Any) -> Any:
    """A copy of an array of the extension. Waits for it, after which that array may go."""
    if kind == "torch":
        import torch

        given = torch.from_dlpack(array)
        tensor = given.to(device, copy=True)
        torch.cuda.current_stream(given.device).synchronize()
        return tensor
    import cupy

    with device:
        copy = cupy.array(cupy.from_dlpack(array))
        cupy.cuda.get_current_stream().synchronize()
        return copy


def own(array: Any) -> Any:
    """A copy of an array of the extension; of one on a GPU `like` makes it."""
    return np.array(array) if isinstance(array, np.ndarray) else array
