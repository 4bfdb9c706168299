"""Small images, and the programs, for tests of the Python module. SOURCE and BIN name the sources and the programs."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import tessera

SOURCE = Path(os.environ["SOURCE"])
BIN = Path(os.environ["BIN"])

# A registration in 2D or 3D of some milliseconds.
QUICK = {
    "Transform": "TranslationTransform",
    "Metric": "AdvancedMeanSquares",
    "ImageSampler": "Full",
    "Optimizer": "RegularStepGradientDescent",
    "NumberOfResolutions": 1,
    "MaximumStepLength": 0.5,
    "MaximumNumberOfIterations": 30,
}
# One of minutes, for tests that stop it.
ENDLESS = {**QUICK, "MaximumNumberOfIterations": 1000000, "MinimumStepLength": 0.0, "MinimumGradientMagnitude": 0.0}


def blobs(shape, shift=0.0, seed=3):
    """Soft blobs, as int16; `shift` voxels along x and half as many along y."""
    axes = np.indices(shape, dtype=float)
    random = np.random.default_rng(seed)
    total = np.zeros(shape)
    for _ in range(25):
        centre = random.uniform(0, shape)
        centre[-1] += shift
        centre[-2] += shift / 2
        width = random.uniform(2, 5)
        square = sum((axis - at) ** 2 for axis, at in zip(axes, centre))
        total += random.uniform(-1, 1) * np.exp(-square / (2 * width**2))
    return (500 * total).astype(np.int16)


def write_mha(path, image):
    """Writes a tessera.Image without the module."""
    names = {"int16": "MET_SHORT", "uint8": "MET_UCHAR", "float32": "MET_FLOAT", "float64": "MET_DOUBLE"}

    def text(numbers):
        return " ".join(repr(float(n)) for n in numbers)

    # A row of TransformMatrix is a direction: a column of ours.
    head = (
        f"ObjectType = Image\nNDims = {image.grid.dimension}\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
        f"TransformMatrix = {text(np.array(image.direction).T.ravel())}\nOffset = {text(image.origin)}\n"
        f"ElementSpacing = {text(image.spacing)}\nDimSize = {' '.join(map(str, image.grid.size))}\n"
        f"ElementType = {names[str(image.array.dtype)]}\nElementDataFile = LOCAL\n"
    )
    Path(path).write_bytes(head.encode() + np.ascontiguousarray(image.array).tobytes())


def program(name, *words, **more):
    """Runs a program that must end with 0."""
    done = subprocess.run([BIN / name, *map(str, words)], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def main():
    """Runs the tests of the file; ends with 77 and the reasons if all were skipped."""
    result = unittest.main(exit=False).result
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    if result.testsRun == len(result.skipped) and result.wasSuccessful():
        sys.exit(77)
    sys.exit(not result.wasSuccessful())


class InAFolder(unittest.TestCase):
    """A test that works in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = Path(folder.name)

    def package(self, name):
        try:
            return __import__(name)
        except ImportError:
            self.skipTest(f"{name} is not installed")
