"""The names of ITKElastix: with ``import tessera.elastix as itk`` its scripts run here, and nothing is written that is
not asked for. Names that are not in this module are those of the package itk, where that is installed.

>>> import numpy as np
>>> import tessera.elastix as itk
>>> y, x = np.mgrid[:40, :40]
>>> def blob(at): return np.exp(-((x - at) ** 2 + (y - 20) ** 2) / 60)
>>> maps = itk.ParameterObject.New(itk.ParameterObject.GetDefaultParameterMap("translation", 2))
>>> image, found = itk.elastix_registration_method(blob(20), blob(23), maps)
>>> found.GetParameter(0, "Transform")
('TranslationTransform',)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _core, _images
from ._errors import UsageError
from ._files import read, write
from ._filter import Filter
from ._images import Grid, image_of, like, source_of, to_itk
from ._parameter_object import (
    ParameterObject,
    convert_to_parameter_map,
    convert_to_parameter_value,
    dict_to_parameter_object,
)
from ._parameters import Parameters as ParameterMap
from ._registration import Registration, register
from ._transform import Transform

__all__ = [
    "ElastixRegistrationMethod",
    "ParameterMap",
    "ParameterObject",
    "TransformixFilter",
    "convert_to_parameter_map",
    "convert_to_parameter_value",
    "dict_to_parameter_object",
    "elastix_registration_method",
    "transformix_deformation_field",
    "transformix_filter",
    "transformix_jacobian",
    "transformix_pointset",
]

# What a transform parameter file says of the result, and not of the transform.
_OF_OUTPUT = (
    *("Size", "Index", "Spacing", "Origin", "Direction", "UseDirectionCosines", "DefaultPixelValue", "Resampler"),
    *("ResampleInterpolator", "FinalBSplineInterpolationOrder", "ResultImageFormat"),
)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        import itk
    except ImportError:
        raise AttributeError(
            f"tessera.elastix has no {name}, and the package itk, whose names it has otherwise, is not installed. "
            f"Allowed: {', '.join(__all__)}, or those of itk after `pip install itk`."
        ) from None
    return getattr(itk, name)


class ElastixRegistrationMethod(Filter):
    """Registers images; see `register`. Its result has the voxel type and the kind of the first fixed image. Without a
    parameter object it goes through the default maps "translation", "affine" and "bspline"."""

    _inputs = ("FixedImage", "MovingImage", "ParameterObject", "FixedMask", "MovingMask")
    _several = ("FixedImage", "MovingImage", "FixedMask", "MovingMask")
    _initial = (
        "InitialTransformParameterFileName",
        "InitialTransformParameterObject",
        "InitialTransform",
        "ExternalInitialTransform",
    )
    _settings = (
        *_initial,
        "FixedPoints",
        "MovingPoints",
        "FixedPointSetFileName",
        "MovingPointSetFileName",
        "OutputDirectory",
        "LogFileName",
        "LogToConsole",
        "LogToFile",
        "LogLevel",
        "NumberOfThreads",
    )

    def __init__(self, *inputs: Any, **settings: Any) -> None:
        self._found: Registration | None = None
        self._maps: ParameterObject | None = None
        super().__init__(*inputs, **settings)

    def Update(self) -> None:
        """Registers. Raises the errors of `tessera.register`."""
        fixed = self._all("FixedImage")
        maps = self._one("ParameterObject")
        if maps is None:
            maps = [ParameterObject.GetDefaultParameterMap(name) for name in ("translation", "affine", "bspline")]
        stages = dict_to_parameter_object(maps).GetParameterMaps()
        if fixed:
            first = _in_memory(fixed[0])
            for stage in stages:
                stage["ResultImagePixelType"] = _dtype_of(first).name
                if first.grid.dimension == 4:  # a series is meant, as in ITKElastix
                    stage.setdefault("FixedImageDimension", ("4",))
        initial = self._one(*self._initial)
        with self._logged("elastix.log"):
            found = register(
                fixed,
                self._all("MovingImage"),
                stages,
                fixed_mask=self._all("FixedMask"),
                moving_mask=self._all("MovingMask"),
                fixed_points=_points(self._one("FixedPoints", "FixedPointSetFileName")),
                moving_points=_points(self._one("MovingPoints", "MovingPointSetFileName")),
                initial=_initial_of(initial),
                threads=self._one("NumberOfThreads") or None,
            )
        if folder := self._folder():
            found.save(folder)
        transforms = found.transform.maps if found.transform else []
        if isinstance(initial, (str, os.PathLike)):  # its file stays what it is, as in the files that are written
            transforms = transforms[-len(stages) :]
            digest = _core.transform_digest(os.fsdecode(initial))
            for name in "InitialTransformParameterFileName", "InitialTransformParametersFileName":
                transforms[0][name] = (os.fsdecode(initial),)
            transforms[0]["InitialTransformSHA256"] = (digest,)
        self._found, self._maps, self._image = found, ParameterObject(transforms), found.image

    def GetTransformParameterObject(self) -> ParameterObject | None:
        """The maps of the transforms, after those of an initial transform that was in memory."""
        return self._maps

    def GetCombinationTransform(self) -> Any:
        """All transforms, also the initial one, as an itk.CompositeTransform: the last stage at the front."""
        if self._found is None or self._found.transform is None:
            raise UsageError("GetCombinationTransform: there is none yet. Allowed: after Update.")
        import itk

        made = self._found.transform.to_itk()
        if made.GetNameOfClass() == "CompositeTransform":
            return made
        whole = getattr(itk, "CompositeTransform")[itk.D, self._found.transform.dimension].New()
        whole.AddTransform(made)
        return whole

    def GetNumberOfTransforms(self) -> int:
        """How many `GetCombinationTransform` has."""
        return int(self.GetCombinationTransform().GetNumberOfTransforms())

    def GetNthTransform(self, n: int) -> Any:
        """One of those of `GetCombinationTransform`."""
        return self.GetCombinationTransform().GetNthTransform(n)

    @staticmethod
    def ConvertToItkTransform(transform: Any) -> Any:
        """The transform itself: all are those of itk."""
        return transform


class TransformixFilter(Filter):
    """Applies transforms to an image, to points and to meshes, and computes fields; see `Transform`."""

    _inputs = ("MovingImage", "TransformParameterObject")
    _several = ()
    _transforms = ("Transform", "ExternalTransform", "CombinationTransform")
    _settings = (
        *_transforms,
        "TransformParameterFileName",
        "FixedPointSetFileName",
        "InputMesh",
        "ComputeSpatialJacobian",
        "ComputeDeterminantOfSpatialJacobian",
        "ComputeDeformationField",
        "OutputDirectory",
        "LogFileName",
        "LogToConsole",
        "LogToFile",
        "LogLevel",
    )

    def __init__(self, *inputs: Any, **settings: Any) -> None:
        self._mesh: Any = None
        self._mapped: Any = None
        super().__init__(*inputs, **settings)

    def Update(self) -> None:
        """Applies the transform, and writes images, fields and points if there is an output directory. Raises
        UsageError, InputError, OutputError."""
        image, points, folder = self._one("MovingImage"), self._one("FixedPointSetFileName"), self._folder()
        transform = self._transform()
        asked = transform._asked(None, "cpu", None)
        if image is not None:
            asked.add_image(source_of(image, "moving_image"))
            asked.set_changes([("ResultImagePixelType", [_dtype_of(image).name])])
        if points is not None:
            asked.set_points(os.fsdecode(points))
        with self._logged("transformix.log"):
            self._mapped = transform._result(asked)
            if image is not None:
                array, numbers = self._mapped.image()
                self._image = like(image, np.array(array), Grid(*numbers))
            if (mesh := self._one("InputMesh")) is not None:
                self._mesh = _mapped_mesh(transform, mesh)
            if folder is None:
                return
            ending = (*self._settings_of_output().get("ResultImageFormat", ()), "mhd")[0]
            if image is not None:
                write(self._image, os.path.join(folder, f"result.{ending}"))
            for setting, stem, make in (
                ("ComputeDeformationField", "deformationField", Transform.displacement),
                ("ComputeDeterminantOfSpatialJacobian", "spatialJacobian", Transform.jacobian),
                ("ComputeSpatialJacobian", "fullSpatialJacobian", Transform.jacobian_matrix),
            ):
                if self._one(setting):
                    import itk

                    itk.imwrite(self._field(make), os.path.join(folder, f"{stem}.{ending}"))
            if points is not None:
                with open(os.path.join(folder, "outputpoints.txt"), "w") as file:
                    file.write(self._mapped.table())

    def GetOutputDeformationField(self) -> Any:
        """T(x) - x at each voxel of the grid, mm: an image of itk.Vector."""
        return self._field(Transform.displacement)

    def ComputeSpatialJacobianDeterminantImage(self) -> Any:
        """The determinant of dT/dx at each voxel of the grid."""
        return self._field(Transform.jacobian)

    def ComputeSpatialJacobianMatrixImage(self) -> Any:
        """dT/dx at each voxel of the grid: an array of z, y, x and D x D, since itk for Python has no such image."""
        return self._transform().jacobian_matrix()

    def GetOutputMesh(self) -> Any:
        """The input mesh with its points mapped."""
        return self._mesh

    def _settings_of_output(self) -> dict[str, Any]:
        """What the last map says."""
        if path := self._one("TransformParameterFileName"):
            return dict(ParameterMap.load(path))
        maps = dict_to_parameter_object(self._one("TransformParameterObject") or []).GetParameterMaps()
        return dict(maps[-1]) if maps else {}

    def _transform(self) -> Transform:
        path, given = self._one("TransformParameterFileName"), self._one("TransformParameterObject")
        if path is not None and given is not None:
            raise UsageError("both transform_parameter_file_name and _object are given. Allowed: one of these.")
        if (itk_transform := self._one(*self._transforms)) is not None:
            maps = Transform.from_itk(itk_transform).maps
            last = self._settings_of_output()
            maps[-1] |= {name: last[name] for name in _OF_OUTPUT if name in last}
            made = Transform.from_maps(maps)
        elif path is not None:
            made = Transform.load(path)
        elif given is not None:
            made = Transform.from_maps(dict_to_parameter_object(given).GetParameterMaps())
        else:
            raise UsageError("transform_parameter_object: not given. Allowed: a ParameterObject, or a dict.")
        return made

    def _field(self, make: Callable[[Transform], np.ndarray[Any, Any]]) -> Any:
        """What is made of the transform, as an image of itk."""
        transform = self._transform()
        array, grid = make(transform), transform.fixed_grid
        assert grid is not None  # else there is no array
        return to_itk(array.reshape(*grid.shape, -1) if array.ndim > grid.dimension else array, grid)


def _in_memory(image: Any) -> _images.Image:
    given = image_of(image, "image")
    return read(given) if isinstance(given, str) else given


def _dtype_of(image: Any) -> np.dtype[Any]:
    """The type of the voxels of a result that goes with an image; a file has to be read for that."""
    dtype = _in_memory(image).array.dtype
    return np.dtype({"bool": "uint8", "float16": "float32"}.get(dtype.name, dtype.name))


def _points(points: Any) -> Any:
    """Points of an itk.PointSet as an array; others as they are."""
    if hasattr(points, "GetElement"):
        return np.array([tuple(points.GetElement(n)) for n in range(points.Size())])
    return points


def _mapped_mesh(transform: Transform, mesh: Any) -> Any:
    import itk

    made = itk.dict_from_mesh(mesh)
    points = np.reshape(made["points"], (-1, made["meshType"]["dimension"]))
    made["points"] = transform.apply_points(points).astype(made["points"].dtype).ravel()
    return itk.mesh_from_dict(made)


def _initial_of(initial: Any) -> Any:
    if initial is None or isinstance(initial, (str, os.PathLike, Transform)):
        return initial
    if isinstance(initial, (ParameterObject, Mapping, list)):
        return Transform.from_maps(dict_to_parameter_object(initial).GetParameterMaps())
    return Transform.from_itk(initial)


def elastix_registration_method(*inputs: Any, **settings: Any) -> tuple[Any, ParameterObject | None]:
    """(image, transform parameter object) of an `ElastixRegistrationMethod` with these inputs and settings."""
    method = ElastixRegistrationMethod(*inputs, **settings)
    method.Update()
    return method.GetOutput(), method.GetTransformParameterObject()


def transformix_filter(*inputs: Any, **settings: Any) -> Any:
    """The image of a `TransformixFilter` with these inputs and settings."""
    method = TransformixFilter(*inputs, **settings)
    method.Update()
    return method.GetOutput()


def transformix_deformation_field(*inputs: Any, **settings: Any) -> Any:
    """The displacements of a `TransformixFilter`."""
    method = TransformixFilter(*inputs, **settings, compute_deformation_field=True)
    method.Update()
    return method.GetOutputDeformationField()


def transformix_jacobian(*inputs: Any, **settings: Any) -> tuple[Any, Any]:
    """(matrices, determinants) of a `TransformixFilter`."""
    method = TransformixFilter(
        *inputs, **settings, compute_spatial_jacobian=True, compute_determinant_of_spatial_jacobian=True
    )
    method.Update()
    return method.ComputeSpatialJacobianMatrixImage(), method.ComputeSpatialJacobianDeterminantImage()


def transformix_pointset(*inputs: Any, reduce_output: bool = False, **settings: Any) -> np.ndarray[Any, Any]:
    """The words of outputpoints.txt, a row for each point; with ``reduce_output`` the mapped points alone, n x D, mm."""
    method = TransformixFilter(*inputs, **settings)
    method.Update()
    if method.GetFixedPointSetFileName() is None:
        raise UsageError("fixed_point_set_file_name: not given. Allowed: a file of points.")
    mapped = method._mapped
    return np.asarray(mapped.points() if reduce_output else [row.split() for row in mapped.table().splitlines()])
