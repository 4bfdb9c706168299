"""Files, components, predictions, scores and sparse products are those of the programs."""

import json
import subprocess
import unittest
from pathlib import Path

import numpy as np
import tessera
from support import BIN, QUICK, InAFolder, blobs, main, program, write_mha

PLACE = {"spacing": (1.5, 2, 2.5), "origin": (-10, 4, 7), "direction": np.eye(3)[[1, 0, 2]]}


class Files(InAFolder):
    def test_images_come_back_as_they_were_written(self):
        for kind in "int8 uint8 int16 uint16 int32 uint32 float32 float64".split():
            array = (np.arange(4 * 5 * 6).reshape(4, 5, 6) * 1234567.25 % 120).astype(kind)
            if kind in ("int32", "uint32", "float64"):
                array[0, 0, 0] = 2**31 - 1  # not a number that float holds
            for name in "a.mha", "a.nii.gz", "a.nrrd":
                tessera.write(tessera.Image(array, **PLACE), name, compress=name == "a.mha")
                again = tessera.read(name)
                self.assertEqual(again.array.dtype, array.dtype)
                np.testing.assert_array_equal(again.array, array)
                np.testing.assert_allclose(again.direction, PLACE["direction"], atol=1e-6)
                np.testing.assert_allclose(again.origin, PLACE["origin"], atol=1e-6)
                self.assertTrue(again.array.flags.writeable)

    def test_other_formats_go_by_the_decoder(self):
        array = np.arange(20 * 30, dtype=np.uint8).reshape(20, 30)
        for name in "a.png", "a.tif":
            tessera.write(array[::-1].copy()[::-1], name)
            np.testing.assert_array_equal(tessera.read(name).array, array)

    def test_errors(self):
        for call, kind in (
            (lambda: tessera.read("nosuch.nii"), tessera.InputError),
            (lambda: tessera.write(blobs((4, 5)), "a.xyz"), tessera.OutputError),
            (lambda: tessera.write(blobs((4, 5)), "nosuch/a.mha"), tessera.OutputError),
            (lambda: tessera.write("a.mha", "b.mha"), tessera.UsageError),
            (lambda: tessera.write(np.zeros((2, 2), complex), "a.mha"), tessera.UsageError),
        ):
            with self.assertRaisesRegex(kind, "Allowed"):
                call()
        Path("cut.mha").write_text("NDims = 3")
        with self.assertRaises(tessera.InputError):
            tessera.read("cut.mha")


class Knowledge(InAFolder):
    def test_components_are_those_of_the_program(self):
        listed = program("tessera", "--list-components")
        for component in tessera.components():
            self.assertIn(component.name, listed)
        self.assertEqual(
            str(tessera.describe("AdvancedMeanSquares")).strip(),
            program("tessera", "--describe", "AdvancedMeanSquares").strip(),
        )
        self.assertEqual(tessera.describe("AdvancedMeanSquares").role, "Metric")
        with self.assertRaisesRegex(tessera.UsageError, 'Did you mean "AdvancedMeanSquares"'):
            tessera.describe("AdvancedMeanSquare")

    def test_presets_are_those_of_the_program(self):
        listed = program("tessera", "--list-presets")
        for name, preset in tessera.presets().items():
            self.assertIn(name, listed)
            self.assertIn(preset.images, listed)
        told = tessera.check(blobs((40, 44)), blobs((40, 44)), "brain", device="cpu")
        self.assertEqual(len(told.devices), len(tessera.presets()["brain"].stages))

    def test_check_predicts_and_refuses(self):
        fixed = blobs((40, 44))
        told = tessera.check(fixed, fixed, [QUICK, "BSpline"], device="cpu")
        self.assertEqual(told.devices, ("cpu", "cpu"))
        self.assertTrue(told.seconds > 0 and told.memory > 1e6 and told.lines)
        with self.assertRaises(tessera.UsageError):
            tessera.check(fixed, fixed, {**QUICK, "Metric": "X"})


class Scores(InAFolder):
    def test_images_and_labels_are_scored_as_by_the_program(self):
        first, second = tessera.Image(blobs((20, 22, 24)), **PLACE), tessera.Image(blobs((20, 22, 24), 0.5), **PLACE)
        mask = tessera.Image((first.array > -50).astype(np.uint8), **PLACE)
        labels = [tessera.Image((image.array > 30).astype(np.uint8) * 4, **PLACE) for image in (first, second)]
        for name, image in ("a", first), ("b", second), ("mask", mask), ("la", labels[0]), ("lb", labels[1]):
            write_mha(f"{name}.mha", image)
        program(
            "tessera-compare",
            "-f",
            "a.mha",
            "-m",
            "b.mha",
            "-fMask",
            "mask.mha",
            "--fLabels",
            "la.mha",
            "--mLabels",
            "lb.mha",
            "--json",
            "told.json",
        )
        told = json.loads(Path("told.json").read_text())
        scores = tessera.compare(first, "b.mha", mask=mask)
        for ours, theirs in {
            "voxels": "voxels",
            "mean_absolute_error": "meanAbsoluteError",
            "root_mean_square_error": "rootMeanSquareError",
            "correlation": "correlation",
            "mutual_information": "normalizedMutualInformation",
            "structural_similarity": "structuralSimilarity",
        }.items():
            self.assertEqual(getattr(scores, ours), told["images"][theirs], ours)
        by_label = tessera.compare_labels(*labels)
        self.assertEqual(list(by_label), [4])
        self.assertEqual(by_label[4].dice, told["labels"][0]["dice"])
        self.assertEqual(by_label[4].hausdorff_95, told["labels"][0]["hausdorff95Mm"])

    def test_voxels_that_are_no_numbers_do_not_count(self):
        image = blobs((20, 20)).astype(float)
        other = image + 1
        other[:3] = np.nan
        self.assertEqual(tessera.compare(image, other).voxels, 17 * 20)

    def test_errors(self):
        image = blobs((20, 20))
        for call in (
            lambda: tessera.compare(image, image[:-1]),
            lambda: tessera.compare(image, image, mask=np.zeros((20, 20), bool)),
            lambda: tessera.compare_labels(image, image + np.float32(0.5)),
            lambda: tessera.score([[1, 2]], [[1, 2], [3, 4]]),
            lambda: tessera.score(np.empty((0, 3)), np.empty((0, 3))),
        ):
            with self.assertRaisesRegex(tessera.Error, "Allowed"):
                call()

    def test_distances_of_points(self):
        shift = tessera.Transform.from_matrix([[1, 0, 3], [0, 1, 4], [0, 0, 1]])
        points = np.array([[0.0, 0], [1, 1], [2, 5]])
        errors = tessera.score(points, points, shift)
        self.assertEqual((errors.count, errors.mean, errors.deviation, errors.mean_per_axis), (3, 5.0, 0.0, [3.0, 4.0]))


class Sparse(InAFolder):
    def setUp(self):
        super().setUp()
        try:
            import scipy.sparse

            self.scipy = scipy.sparse
        except ImportError:
            self.skipTest("scipy is not installed")
        from tessera import sparse

        self.multiply = sparse.multiply
        self.random = lambda *shape: self.scipy.random_array(
            shape, density=0.1, rng=np.random.default_rng(5), format="csr"
        )

    def test_products_are_those_of_scipy_and_of_the_program(self):
        a, b = self.random(50, 70), self.random(70, 40)
        product = self.multiply(a, b)
        np.testing.assert_allclose(product.toarray(), (a @ b).toarray(), atol=1e-12)
        self.assertTrue(product.has_sorted_indices)
        for kind in np.float32, np.int64:
            numbers = (a * 10).astype(kind), (b * 10).astype(kind)
            result = self.multiply(*numbers)
            self.assertEqual(result.dtype, kind)
            np.testing.assert_allclose(result.toarray(), (numbers[0] @ numbers[1]).toarray(), rtol=1e-6)
        self.scipy.save_npz("a.npz", self.scipy.csr_matrix(a))
        self.scipy.save_npz("b.npz", self.scipy.csr_matrix(b))
        subprocess.run([BIN / "tessera-spgemm", "a.npz", "b.npz", "-o", "c.npz"], check=True, capture_output=True)
        np.testing.assert_array_equal(self.scipy.load_npz("c.npz").toarray(), product.toarray())

    def test_masks_semirings_and_other_forms(self):
        a = self.random(30, 30)
        mask = self.random(30, 30)
        dense = (a @ a).toarray()
        np.testing.assert_allclose(self.multiply(a, a, mask=mask).toarray(), dense * (mask.toarray() != 0), atol=1e-12)
        np.testing.assert_allclose(
            self.multiply(a, a, mask=mask, complement=True).toarray(), dense * (mask.toarray() == 0), atol=1e-12
        )
        pairs = self.multiply(a, a, semiring="plus-pair").toarray()
        np.testing.assert_array_equal(pairs, ((a != 0).astype(int) @ (a != 0).astype(int)).toarray())
        for form in "csc", "coo", "bsr", "lil":
            np.testing.assert_array_equal(self.multiply(a.asformat(form), a).toarray(), self.multiply(a, a).toarray())
        twice = self.scipy.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
        np.testing.assert_array_equal(self.multiply(twice, self.scipy.eye_array(2)).toarray(), [[0, 3], [0, 0]])
        self.assertEqual(self.multiply(self.scipy.csr_array((3, 0)), self.scipy.csr_array((0, 2))).shape, (3, 2))

    def test_errors(self):
        a = self.random(3, 4)
        for call in (
            lambda: self.multiply(a, a),
            lambda: self.multiply(a, a.toarray()),
            lambda: self.multiply(a, a.T, semiring="times"),
            lambda: self.multiply(a.astype(complex), a.T),
            lambda: self.multiply(a, a.T, device="gpu"),
        ):
            with self.assertRaisesRegex(tessera.UsageError, "Allowed"):
                call()


if __name__ == "__main__":
    main()
