"""Calls with arguments at random, hostile ones among them. Each must give a result or a tessera.Error.
usage: random_calls.py COUNT [SEED]"""

import sys

import numpy as np
import tessera

TRANSFORMS = [
    "TranslationTransform",
    "EulerTransform",
    "SimilarityTransform",
    "AffineTransform",
    "BSplineTransform",
    "SplineKernelTransform",
    "DeformationFieldTransform",
]
VALUES = [
    0,
    1,
    -1,
    2,
    3,
    1e-300,
    1e300,
    -5.5,
    "nan",
    "inf",
    "true",
    "false",
    "",
    "x",
    2**40,
    [1, 2],
    [],
    ["a", 1],
    True,
]


class Caller:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.metrics = [c.name for c in tessera.components() if c.role == "Metric"]
        self.samplers = [c.name for c in tessera.components() if c.role == "ImageSampler"]
        self.optimizers = [c.name for c in tessera.components() if c.role == "Optimizer"]
        self.parameters = sorted({p.name for c in tessera.components() for p in c.parameters})

    def one_of(self, things):
        return things[int(self.random.integers(len(things)))]

    def chance(self, share):
        return self.random.random() < share

    def array(self, axes):
        shape = [
            int(self.one_of([0, 1, 2, 3, 5, 8, 12, 16]) if self.chance(0.1) else self.one_of([8, 12, 16]))
            for _ in range(axes)
        ]
        array = self.random.normal(100, 50, shape)
        if self.chance(0.1):
            array[self.random.random(shape) < self.one_of([0.1, 1])] = self.one_of([np.nan, np.inf, -np.inf, 1e308])
        if self.chance(0.05):
            array[...] = self.one_of([0, 7])
        with np.errstate(all="ignore"):
            array = array.astype(
                self.one_of("f4 f8 i2 u1 i4 u8 i8 f2 ?".split())
                if self.chance(0.98)
                else self.one_of(["c8", "O", "U3"])
            )
        if self.chance(0.2):
            array = array[tuple(slice(None, None, int(self.one_of([1, -1, 2]))) for _ in shape)]
        if self.chance(0.1):
            array = np.asfortranarray(array)
        return np.asarray(array)  # slicing an array without axes gives a number

    def image(self, axes, array=None):
        array = self.array(axes) if array is None else np.asarray(array)
        if self.chance(0.5):
            return array
        wrong = self.chance(0.15)
        spacing = self.random.uniform(0.5, 3, array.ndim)
        direction = np.eye(array.ndim)
        if wrong:
            spacing[:1] = self.one_of([0, -1, np.nan, np.inf, 1e-300, 1e300])
        if self.chance(0.1):
            direction = self.random.normal(size=(array.ndim, array.ndim)) * self.one_of([0, 1, 1e20])
        origin = self.random.normal(0, 5, array.ndim) * self.one_of([1, 1, 1, 1e6, np.nan if wrong else 1])
        return tessera.Image(array, spacing, origin, direction)

    def map(self):
        parameters = {
            "Transform": self.one_of(TRANSFORMS[:5]) if self.chance(0.9) else self.one_of(TRANSFORMS),
            "Metric": self.one_of(self.metrics),
            "Optimizer": self.one_of(self.optimizers),
            "ImageSampler": self.one_of(self.samplers),
            "NumberOfResolutions": int(self.one_of([1, 1, 2, 3])),
            "MaximumNumberOfIterations": int(self.one_of([0, 1, 3])),
            "NumberOfSpatialSamples": int(self.one_of([1, 50, 500])),
            "FinalGridSpacingInVoxels": int(self.one_of([4, 8])),
            "AutomaticTransformInitialization": self.chance(0.7),
            "MaximumStepLength": 0.1,
        }
        if self.chance(0.6):
            parameters["Metric"] = self.one_of(
                ["AdvancedMeanSquares", "AdvancedMattesMutualInformation", "NormalizedMutualInformation"]
            )
            parameters["Optimizer"] = self.one_of(["AdaptiveStochasticGradientDescent", "RegularStepGradientDescent"])
            parameters["ImageSampler"] = self.one_of(["RandomCoordinate", "Full", "Grid"])
        for _ in range(int(self.random.integers(0, 3)) if self.chance(0.3) else 0):
            parameters[self.one_of(self.parameters)] = self.one_of(VALUES)
        parameters["MaximumNumberOfIterations"] = (
            min(3, parameters["MaximumNumberOfIterations"])
            if isinstance(parameters["MaximumNumberOfIterations"], int)
            else 3
        )
        parameters["MaximumNumberOfThreads"] = 1
        return parameters

    def points(self, axes):
        return self.random.normal(5, 5, (int(self.one_of([0, 1, 4, 9])), axes if self.chance(0.95) else 4 - axes))

    def call(self):
        axes = int(self.one_of([2, 2, 2, 3])) if self.chance(0.97) else int(self.one_of([0, 1, 4]))
        fixed = self.image(axes)
        moving = self.image(axes if self.chance(0.97) else 3)
        more = {}
        labels, points = self.chance(0.1), self.chance(0.1)
        for name in "fixed_mask", "moving_mask", "fixed_labels", "moving_labels":
            if labels and "labels" in name or self.chance(0.02 if "labels" in name else 0.1):
                array = self.array(axes) if self.chance(0.3) else np.asarray(fixed)
                with np.errstate(all="ignore"):
                    more[name] = self.image(
                        axes, array > 0 if self.chance(0.7) and array.dtype.kind not in "OU" else array
                    )
        for name in "fixed_points", "moving_points":
            if points or self.chance(0.02):
                more[name] = self.points(axes)
        if self.chance(0.05):
            more["initial"] = self.random.normal(size=(axes + 1, axes + 1)) if self.chance(0.5) else np.eye(axes + 1)
        found = tessera.register(
            fixed,
            moving,
            [self.map() for _ in range(int(self.one_of([1, 1, 2])))],
            device="cpu",
            threads=int(self.one_of([1, 2])),
            **more,
        )
        found.quality, found.levels, found.image
        transform = found.transform.inverse() if self.chance(0.2) else found.transform
        action = int(self.random.integers(6))
        if action == 0:
            transform.apply(self.image(axes), labels=self.chance(0.5), order=self.one_of([None, 0, 1, 2, 5, 9]))
        elif action == 1:
            transform.apply_points(self.points(axes))
        elif action == 2:
            transform.displacement()
        elif action == 3:
            transform.jacobian()
        elif action == 4:
            tessera.compare(found.image, self.image(axes, np.asarray(found.image)))


def main(count, seed):
    caller = Caller(seed)
    results, errors = 0, {}
    for number in range(count):
        try:
            caller.call()
            results += 1
        except tessera.Error as error:
            errors[type(error).__name__] = errors.get(type(error).__name__, 0) + 1
            if "defect of the program" in str(error):
                print(f"call {number}: {error}", flush=True)
                raise
    print(results, "results,", errors)
    return results, errors


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
