"""Parameter maps and lists of them, by the names of ITKElastix."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from ._errors import UsageError
from ._parameters import Parameters as ParameterMap
from ._parameters import Value, entries_of, is_number, text_of, value_text

_COMMON = {
    "AutomaticParameterEstimation": "true",
    "CheckNumberOfSamples": "true",
    "DefaultPixelValue": "0",
    "FinalBSplineInterpolationOrder": "3",
    "FixedImagePyramid": "FixedSmoothingImagePyramid",
    "ImageSampler": "RandomCoordinate",
    "Interpolator": "LinearInterpolator",
    "MaximumNumberOfIterations": "256",
    "MaximumNumberOfSamplingAttempts": "8",
    "Metric": "AdvancedMattesMutualInformation",
    "MovingImagePyramid": "MovingSmoothingImagePyramid",
    "NewSamplesEveryIteration": "true",
    "NumberOfSamplesForExactGradient": "4096",
    "NumberOfSpatialSamples": "2048",
    "Optimizer": "AdaptiveStochasticGradientDescent",
    "Registration": "MultiResolutionRegistration",
    "ResampleInterpolator": "FinalBSplineInterpolator",
    "Resampler": "DefaultResampler",
    "ResultImageFormat": "nii",
    "WriteIterationInfo": "false",
    "WriteResultImage": "true",
}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "translation": {"Transform": "TranslationTransform", "AutomaticTransformInitialization": "true"},
    "rigid": {"Transform": "EulerTransform", "AutomaticScalesEstimation": "true"},
    "affine": {"Transform": "AffineTransform", "AutomaticScalesEstimation": "true"},
    "bspline": {
        "Transform": "BSplineTransform",
        "Registration": "MultiMetricMultiResolutionRegistration",
        "Metric": ("AdvancedMattesMutualInformation", "TransformBendingEnergyPenalty"),
        "Metric0Weight": "1.0",
        "Metric1Weight": "1.0",
    },
    "spline": {"Transform": "SplineKernelTransform"},
    "groupwise": {
        "Transform": "BSplineStackTransform",
        "Metric": "VarianceOverLastDimensionMetric",
        "Interpolator": "ReducedDimensionBSplineInterpolator",
        "ResampleInterpolator": "FinalReducedDimensionBSplineInterpolator",
    },
}


def convert_to_parameter_value(value: Any) -> str:
    """A str, bool, int or float as a parameter file has it. Raises UsageError.

    >>> convert_to_parameter_value(True), convert_to_parameter_value(0.5)
    ('true', '0.5')
    """
    return value_text(value, "parameter")


def convert_to_parameter_map(d: Mapping[str, Value]) -> dict[str, tuple[str, ...]]:
    """A dict whose values are tuples of str. Raises UsageError.

    >>> convert_to_parameter_map({"Transform": "EulerTransform", "Spacing": [1, 0.5]})
    {'Transform': ('EulerTransform',), 'Spacing': ('1', '0.5')}
    """
    return {name: tuple(values) for name, values in entries_of(d, "parameter map")}


class ParameterObject:
    """Parameter maps, one a stage, or those of a chain of transforms. Maps go in and come out as copies.

    >>> both = ParameterObject.New(ParameterObject.GetDefaultParameterMap("rigid", 2))
    >>> both.AddParameterMap({"Transform": "BSplineTransform"})
    >>> both.SetParameter("WriteResultImage", False)
    >>> both.GetNumberOfParameterMaps(), both.GetParameter(0, "NumberOfResolutions")
    (2, ('2',))
    """

    def __init__(self, parameter_map: Any = None) -> None:
        self._maps: list[ParameterMap] = []
        if parameter_map is not None:
            self.SetParameterMap(parameter_map)

    @classmethod
    def New(cls, parameter_map: Any = None) -> ParameterObject:
        """With this map, or these."""
        return cls(parameter_map)

    @staticmethod
    def GetDefaultParameterMap(name: str, resolutions: int = 4, final_grid_spacing: float = 10.0) -> ParameterMap:
        """The map that ITKElastix has by this name: translation, rigid, affine, bspline, spline or groupwise, which
        is for 2D images over time in one 3D array.
        ``final_grid_spacing``: of the grids of "bspline" and "groupwise", mm. Raises UsageError."""
        if name not in _DEFAULTS:
            raise UsageError(f'name: "{name}": no default map. Allowed: {", ".join(_DEFAULTS)}.')
        made = ParameterMap({**_COMMON, **_DEFAULTS[name], "NumberOfResolutions": resolutions})
        if name in ("bspline", "groupwise"):
            factors = [2.0 ** ((resolutions - 1 - level) / 2) for level in range(resolutions)]
            made["GridSpacingSchedule"] = [repr(factor).removesuffix(".0") for factor in factors]
            made["FinalGridSpacingInPhysicalUnits"] = f"{final_grid_spacing:f}"
        return made

    def SetParameterMap(self, *index_map: Any) -> None:
        """SetParameterMap(map) replaces all maps by this one, or by these, SetParameterMap(index, map) one."""
        *index, given = index_map
        if index:
            self._chosen(index)
            self._maps[index[0]] = ParameterMap(given)
        else:
            self._maps = [ParameterMap(one) for one in ([given] if isinstance(given, Mapping) else given)]

    SetParameterMaps = SetParameterMap

    def AddParameterMap(self, parameter_map: Mapping[str, Value]) -> None:
        """Appends a map."""
        self._maps.append(ParameterMap(parameter_map))

    def GetNumberOfParameterMaps(self) -> int:
        """How many there are."""
        return len(self._maps)

    def GetParameterMap(self, index: int) -> ParameterMap:
        """The map at this place, from 0 on. Raises UsageError."""
        return ParameterMap(self._chosen([index])[0])

    def GetParameterMaps(self) -> list[ParameterMap]:
        """All maps."""
        return [ParameterMap(one) for one in self._maps]

    def AddParameterFile(self, path: str | os.PathLike[str]) -> None:
        """Appends the map of a file (.txt, .toml). Raises UsageError, InputError."""
        self.AddParameterMap(ParameterMap.load(path))

    def ReadParameterFile(self, path: Any) -> None:
        """Replaces all maps by that of a file, or by those of a list of files."""
        self.ReadParameterFiles(path if isinstance(path, (list, tuple)) else [path])

    def ReadParameterFiles(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Replaces all maps by those of files."""
        self.SetParameterMap([ParameterMap.load(path) for path in paths])

    @staticmethod
    def WriteParameterFile(parameter_map: Mapping[str, Value], path: str | os.PathLike[str]) -> None:
        """Writes a map as TOML to a path that ends in .toml, else as elastix's text. Raises UsageError, OSError."""
        entries = entries_of(parameter_map, "parameter map")
        is_toml = os.fsdecode(path).endswith(".toml")
        text = "".join(map(_row_of_toml, entries)) if is_toml else text_of(entries)
        with open(path, "w") as file:
            file.write(text)

    def WriteParameterFiles(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Writes each map to a file of its own. Raises UsageError, OSError."""
        places = list(paths)
        if len(places) != len(self._maps):
            raise UsageError(f"paths: {len(places)} for {len(self._maps)} maps. Allowed: one a map.")
        for one, path in zip(self._maps, places):
            self.WriteParameterFile(one, path)

    def SetParameter(self, *index_name_value: Any) -> None:
        """SetParameter(name, value) sets a parameter of all maps, SetParameter(index, name, value) of one."""
        *index, name, value = index_name_value
        for one in self._chosen(index):
            one[name] = value

    def GetParameter(self, index: int, name: str) -> tuple[str, ...]:
        """The values of a parameter of one map. Raises UsageError."""
        values: tuple[str, ...] | None = self._chosen([index])[0].get(name)
        if values is None:
            raise UsageError(f"({name}): not in map {index}. Allowed: names that HasParameter finds.")
        return values

    def HasParameter(self, index: int, name: str) -> bool:
        """Whether one map has a parameter."""
        return name in self._chosen([index])[0]

    def RemoveParameter(self, *index_name: Any) -> None:
        """RemoveParameter(name) takes a parameter out of all maps, RemoveParameter(index, name) out of one."""
        *index, name = index_name
        for one in self._chosen(index):
            one.pop(name, None)

    def _chosen(self, index: list[int]) -> list[ParameterMap]:
        """The map of an index; all, if none is given."""
        if not index:
            return self._maps
        if index[0] not in range(len(self._maps)):
            raise UsageError(f"index: {index[0]!r} of {len(self._maps)} maps. Allowed: those, from 0 on.")
        return [self._maps[index[0]]]

    def __str__(self) -> str:
        rows = ["ParameterObject\n"]
        for number, one in enumerate(self._maps):
            rows.append(f"ParameterMap {number}: \n")
            rows += [f"  {row}\n" for row in text_of(sorted(one.items())).splitlines()]
        return "".join(rows)


def _row_of_toml(entry: tuple[str, list[str]]) -> str:
    name, values = entry
    texts = [value if is_number(value) or value in ("true", "false") else json.dumps(value) for value in values]
    return f"{name} = {texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'}\n"


def dict_to_parameter_object(d: Any) -> ParameterObject:
    """A dict, or a list of dicts, as a ParameterObject; such an object as it is. Raises UsageError.

    >>> dict_to_parameter_object({"Transform": "EulerTransform"}).GetNumberOfParameterMaps()
    1
    """
    return d if isinstance(d, ParameterObject) else ParameterObject(d)
