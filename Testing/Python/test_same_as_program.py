"""Registrations have the bits of the program, for every shipped parameter file and any number of threads."""

import re
import shutil
import unittest
from pathlib import Path

import numpy as np
import tessera
from support import SOURCE, InAFolder, blobs, main, program, write_mha

DIRECTION = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
SHAPE = (24, 26, 28)


def image(shift=0.0):
    return tessera.Image(blobs(SHAPE, shift), (3, 3, 3.5), (-10, 5, 7), DIRECTION)


def few_iterations(path):
    """The text of a parameter file with less work: 5 iterations in each level."""
    return re.sub("(?m)^.MaximumNumberOfIterations .*", "(MaximumNumberOfIterations 5)", Path(path).read_text())


def table_of(folder):
    """The bytes of all files but those of the record and the log, and tables without their columns of times."""
    files = {}
    for path in Path(folder).iterdir():
        if path.name in ("elastix.log", "run.json", "summary.json"):
            continue
        files[path.name] = path.read_bytes()
        if path.name.startswith("IterationInfo"):
            rows = [row.split("\t") for row in path.read_text().splitlines()]
            kept = [column for column, name in enumerate(rows[0]) if "Time" not in name]
            files[path.name] = [[row[column] for column in kept] for row in rows]
    return files


class SameAsProgram(InAFolder):
    def setUp(self):
        super().setUp()
        self.fixed, self.moving = image(), image(1.5)
        write_mha("f.mha", self.fixed)
        write_mha("m.mha", self.moving)
        self.mask = tessera.Image((blobs(SHAPE) > -100).astype(np.uint8), (3, 3, 3.5), (-10, 5, 7), DIRECTION)
        write_mha("mask.mha", self.mask)
        self.all = tessera.Image(np.ones(SHAPE, np.uint8), (3, 3, 3.5), (-10, 5, 7), DIRECTION)
        write_mha("all.mha", self.all)
        self.points = np.array([[-20.0, 20, 20], [-30, 30, 40], [-40, 20, 60], [-60, 40, 30], [-50, 60, 50.5]])
        for name, shift in ("p", 0), ("q", 2):
            rows = "\n".join(" ".join(map(repr, map(float, row))) for row in self.points + shift)
            Path(f"{name}.txt").write_text(f"point\n{len(self.points)}\n{rows}\n")

    def run_both(self, words, arguments, *forms):
        """The program's files, and those of each form of the parameters, given with its number of threads."""
        program("tessera", "-f", "f.mha", "-m", "m.mha", "-out", "out", "-threads", 2, "-q", *words)
        expected = table_of("out")
        shutil.rmtree("out")
        self.assertTrue(any(name.startswith("TransformParameters.") for name in expected))
        for threads, parameters in forms:
            found = tessera.register(self.fixed, self.moving, parameters, threads=threads, **arguments)
            found.save("out")  # the same folder, which transform files name
            actual = table_of("out")
            shutil.rmtree("out")
            self.assertEqual(sorted(actual), sorted(expected))
            for name, content in expected.items():
                self.assertEqual(actual[name], content, f"{name}, {threads} threads, {str(parameters)[:60]}")

    def forms(self, path):
        """A file by its name, its path, its text and as a dict."""
        text = Path(path).read_text()
        entries = tessera._core.entries_of_text(text, "test")
        return path.stem, path, text, {name: values for name, values in entries}

    def test_a_series_in_4d(self):
        """All times at once, as the program; the transform maps points, images and goes through its maps and its file."""
        shape = (3, 10, 18, 20)
        series = np.stack([blobs(shape[1:], shift) for shift in (-1.0, 0.0, 1.0)])
        self.fixed = self.moving = tessera.Image(series, (2, 2, 2.5, 1.5), (-10, 5, 7, 0))
        write_mha("f.mha", self.fixed)
        write_mha("m.mha", self.moving)
        stack = {
            "FixedImageDimension": 4,
            "MovingImageDimension": 4,
            "Transform": "TranslationStackTransform",
            "Metric": "VarianceOverLastDimensionMetric",
            "SubtractMean": True,
            "ImageSampler": "RandomCoordinate",
            "NumberOfSpatialSamples": 300,
            "NewSamplesEveryIteration": True,
            "Interpolator": "ReducedDimensionBSplineInterpolator",
            "ResampleInterpolator": "FinalReducedDimensionBSplineInterpolator",
            "Optimizer": "AdaptiveStochasticGradientDescent",
            "ImagePyramidSchedule": [1, 1, 1, 0],
            "NumberOfResolutions": 1,
            "MaximumNumberOfIterations": 60,
            "ResultImageFormat": "mha",
        }
        Path("stack.txt").write_text(tessera._parameters.text_of(tessera.Parameters(stack).items()))
        self.run_both(["-p", "stack.txt"], {}, (1, stack), (3, "stack.txt"))
        found = tessera.register(self.fixed, self.moving, stack)
        aligned = found.image.array
        self.assertEqual(aligned.shape, shape)
        inside = (slice(None), slice(2, -2), slice(3, -3), slice(3, -3))
        self.assertLess(aligned[inside].var(axis=0).mean(), 0.3 * series[inside].var(axis=0).mean())
        labels = tessera.Image((series[1] > 90).astype(np.uint8) * 3, (2, 2, 2.5), (-10, 5, 7))
        write_mha("l.mha", labels)
        found.save("found")
        words = "-tp", "found/TransformParameters.0.txt", "--labels", "l.mha", "--from-time", 1
        program("tessera-transform", *words, "-out", "carried", "-q")
        carried = found.transform.apply(labels, labels=True, from_time=1)
        np.testing.assert_array_equal(carried.array, tessera.read("carried/result.mha").array)
        self.assertEqual(carried.grid, self.fixed.grid)
        for wrong, image in (3, labels), (-1, labels), (1, self.fixed):
            with self.assertRaises(tessera.UsageError):
                found.transform.apply(image, labels=True, from_time=wrong)
        transform = found.transform
        points = np.array([[0.0, 20, 15, 0], [4, 30, 20, 1.5], [8, 25, 18, 3]])
        mapped = transform.apply_points(points)
        self.assertEqual((transform.dimension, mapped.shape), (4, (3, 4)))
        np.testing.assert_array_equal(mapped[:, 3], points[:, 3])
        found.save("kept")
        for other in tessera.Transform.load("kept/TransformParameters.0.txt"), tessera.Transform.from_maps(transform.maps):
            np.testing.assert_array_equal(other.apply_points(points), mapped)
        np.testing.assert_array_equal(transform.apply(self.moving).array, aligned)
        np.testing.assert_allclose(transform.inverse().apply_points(mapped), points, atol=1e-3)
        tessera.write(self.fixed, "again.nii.gz")
        again = tessera.read("again.nii.gz")
        np.testing.assert_array_equal(again.array, series)
        for words, call in (
            ("series", lambda: tessera.register(self.fixed, self.moving, "Rigid")),
            ("2D and 3D", lambda: transform.save("kept.h5")),
        ):
            with self.assertRaisesRegex(tessera.Error, words):
                call()

    def test_every_shipped_file_with_few_iterations(self):
        other = self.moving
        for name, path in tessera.parameter_files().items():
            with self.subTest(name):
                self.moving = self.fixed if name.startswith("Groupwise") else other  # the times of one series
                write_mha("m.mha", self.moving)
                text = few_iterations(path)
                Path("few.txt").write_text(text)
                words, arguments = ["-p", "few.txt"], {}
                if name in ("LungFreeForm", "LungSpline"):
                    words += ["-fp", "p.txt", "-mp", "q.txt", "-fMask", "all.mha", "-mMask", "all.mha"]
                    arguments = {
                        "fixed_points": self.points,
                        "moving_points": self.points + 2,
                        "fixed_mask": self.all,
                        "moving_mask": self.all,
                    }
                self.run_both(words, arguments, (3, text))

    def test_all_forms_and_numbers_of_threads(self):
        stem, path, text, entries = self.forms(SOURCE / "Parameters/Rigid.txt")
        self.run_both(["-p", path], {}, (1, stem), (1, path), (2, text), (8, entries), (2, str(path)))
        stem, path, text, entries = self.forms(SOURCE / "Parameters/FreeFormNMI.txt")
        self.run_both(["-p", path], {}, (1, stem), (8, entries))

    def test_chains_masks_tables_and_files_of_levels(self):
        further = (
            '(WriteIterationInfo "true")\n(WriteTransformParametersEachResolution "true")\n'
            '(ITKTransformOutputFileNameExtension "tfm")\n(WriteITKCompositeTransform "true")\n'
            '(ResultImageFormat "nii.gz")\n(ErodeMask "false")\n'
        )
        texts = []
        for name in "Translation", "BSpline":
            text = few_iterations(SOURCE / "Parameters" / f"{name}.txt")
            kept = [row for row in text.splitlines() if not row.startswith(("(Write", "(ResultImageFormat"))]
            texts.append("\n".join(kept) + "\n" + further)
            Path(f"{name}.txt").write_text(texts[-1])
        self.run_both(
            ["-p", "Translation.txt", "-p", "BSpline.txt", "-fMask", "mask.mha", "-mMask", "mask.mha"],
            {"fixed_mask": self.mask, "moving_mask": self.mask},
            (2, texts),
            (1, ["Translation.txt", Path("BSpline.txt")]),
        )

    def test_the_inverse(self):
        for name in "Rigid", "FreeFormNMI":
            path = SOURCE / "Parameters" / f"{name}.txt"
            self.run_both(["-p", path, "--inverse-too"], {"inverse": True}, (1, name))
        found = tessera.register(self.fixed, self.moving, "FreeFormNMI", inverse=True)
        there = found.inverse.apply_points(self.points)
        np.testing.assert_allclose(found.transform.apply_points(there), self.points, atol=0.05)
        self.assertEqual((found.inverse.fixed_grid, found.inverse.moving_grid), (self.moving.grid, self.fixed.grid))
        with self.assertRaisesRegex(tessera.UsageError, "without moving_labels"):
            tessera.register(self.fixed, self.moving, "Rigid", inverse=True, fixed_labels=self.mask)

    def test_an_initial_transform_of_memory_is_saved_with_the_rest(self):
        first = tessera.register(self.fixed, self.moving, "Translation", threads=2)
        found = tessera.register(self.fixed, self.moving, "Affine", threads=2, initial=first.transform)
        found.save("out")
        from_file = tessera.Transform.load("out/TransformParameters.0.txt")
        points = np.array([[1.0, 2, 3], [-30, 10, 50]])
        np.testing.assert_array_equal(from_file.apply_points(points), found.transform.apply_points(points))
        first.save("first")
        words = "-p", SOURCE / "Parameters/Affine.txt", "-t0", "first/TransformParameters.0.txt"
        program("tessera", "-f", "f.mha", "-m", "m.mha", *words, "-out", "out2", "-threads", 2, "-q")
        of_program = tessera.Transform.load("out2/TransformParameters.0.txt")
        np.testing.assert_array_equal(of_program.apply_points(points), found.transform.apply_points(points))


if __name__ == "__main__":
    main()
