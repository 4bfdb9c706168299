"""Transforms as objects of ITK, SimpleITK and ANTs, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._errors import UsageError

ItkNumbers = tuple[str, list[float], list[float]]


def _class_of(name: str) -> tuple[str, int, int]:
    """ "AffineTransform_double_3_3" -> ("AffineTransform", 3, 3); the last is the order of a B-spline, or 3."""
    words = name.split("_")
    return words[0], int(words[2]), int(words[4]) if len(words) > 4 else 3


def to_itk(transforms: list[ItkNumbers]) -> Any:
    """The first one is applied last, as in ITK."""
    import itk

    made = []
    for name, fixed_parameters, parameters in transforms:
        kind, dimension, order = _class_of(name)
        if order != 3:
            raise UsageError(
                f"transform: a B-spline of order {order}: itk for Python has none. Allowed: order 3, or to_sitk()."
            )
        words = _words(kind, dimension, order)
        transform = getattr(itk, kind)[(itk.D, *words) if words else itk.D].New()
        transform.SetFixedParameters(_itk_numbers(itk, fixed_parameters))
        transform.SetParameters(_itk_numbers(itk, parameters))
        made.append(transform)
    if len(made) == 1:
        return made[0]
    whole = getattr(itk, "CompositeTransform")[itk.D, _class_of(transforms[0][0])[1]].New()
    for transform in made:
        whole.AddTransform(transform)
    return whole


def _words(kind: str, dimension: int, order: int) -> tuple[int, ...]:
    """The dimension of a class of ITK, unless its name has one, and the order of a B-spline."""
    words = () if "2D" in kind or "3D" in kind else (dimension,)
    return (*words, order) if kind == "BSplineTransform" else words


def _itk_numbers(itk: Any, values: list[float]) -> Any:
    numbers = itk.OptimizerParameters[itk.D](len(values))
    for place, value in enumerate(values):
        numbers.SetElement(place, value)
    return numbers


def to_simple_itk(transforms: list[ItkNumbers]) -> Any:
    """The first one is applied last, as in ITK."""
    import SimpleITK

    made = []
    for name, fixed_parameters, parameters in transforms:
        kind, dimension, order = _class_of(name)
        transform = getattr(SimpleITK, kind)(*_words(kind, dimension, order))
        transform.SetFixedParameters(fixed_parameters)
        transform.SetParameters(parameters)
        made.append(transform)
    return made[0] if len(made) == 1 else SimpleITK.CompositeTransform(made)


def from_itk(transform: Any) -> tuple[int, list[ItkNumbers]]:
    """The dimension, and the transforms, of an object of ITK or SimpleITK."""
    if hasattr(transform, "Downcast"):  # SimpleITK
        transform = transform.Downcast()
        dimension = transform.GetDimension()
    elif hasattr(transform, "GetInputSpaceDimension"):
        dimension = transform.GetInputSpaceDimension()
    else:
        raise UsageError(
            f"transform: an object of type {type(transform).__name__}. Allowed: a transform of itk or SimpleITK."
        )
    return dimension, _flat(transform, dimension)


def _flat(transform: Any, dimension: int) -> list[ItkNumbers]:
    if hasattr(transform, "GetNumberOfTransforms"):
        parts = [transform.GetNthTransform(n) for n in range(transform.GetNumberOfTransforms())]
        return [
            number
            for part in parts
            for number in _flat(part.Downcast() if hasattr(part, "Downcast") else part, dimension)
        ]
    kind = transform.GetNameOfClass() if hasattr(transform, "GetNameOfClass") else transform.GetName()
    name = f"{kind}_double_{dimension}_{dimension}"
    order = transform.GetOrder() if hasattr(transform, "GetOrder") else 3
    if "BSpline" in kind and order != 3:
        name += f"_{order}"
    return [(name, list(map(float, transform.GetFixedParameters())), list(map(float, transform.GetParameters())))]


def from_ants(transform: Any) -> tuple[int, list[ItkNumbers]]:
    """The dimension and the numbers of one transform of ants."""
    if type(transform).__module__.partition(".")[0] != "ants":
        raise UsageError(
            f"transform: an object of type {type(transform).__name__}. Allowed: a transform of ants, a file, or a list."
        )
    kind, dimension = transform.type, transform.dimension
    if kind == "CompositeTransform":
        raise UsageError("transform: a CompositeTransform, of which ants tells no parts. Allowed: a list of its parts.")
    if kind == "DisplacementFieldTransform":
        import ants

        transform = ants.compose_ants_transforms([transform])  # which tells the numbers of fields, too
    numbers = list(map(float, transform.fixed_parameters)), list(map(float, transform.parameters))
    return dimension, [(f"{kind}_double_{dimension}_{dimension}", *numbers)]


def to_ants(transform: Any) -> Any:
    """A linear transform, or one of displacements on the grid of the fixed image."""
    import ants

    matrix = transform.matrix
    if matrix is not None:
        axes = transform.dimension
        return ants.create_ants_transform(
            transform_type="AffineTransform",
            dimension=axes,
            matrix=matrix[:axes, :axes],
            translation=matrix[:axes, axes],
        )
    grid = transform.fixed_grid
    field = np.ascontiguousarray(np.moveaxis(transform.displacement(), -1, 0).T)
    return ants.transform_from_displacement_field(
        ants.from_numpy(field, list(grid.origin), list(grid.spacing), np.asarray(grid.direction), has_components=True)
    )
