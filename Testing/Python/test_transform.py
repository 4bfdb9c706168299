"""Transforms do what tessera-transform does, and what their algebra says."""

import pickle
import unittest
from pathlib import Path

import numpy as np
import tessera
from support import QUICK, InAFolder, blobs, main, program, write_mha

SHAPE = (20, 22, 24)
PLACE = {"spacing": (1.5, 2, 2.5), "origin": (-10, 4, 7), "direction": np.eye(3)[[1, 0, 2]]}
SPLINE = {**QUICK, "Transform": "BSplineTransform", "FinalGridSpacingInVoxels": 8, "MaximumNumberOfIterations": 15}


def values_of_mha(path, kind):
    content = Path(path).read_bytes()
    head, _, voxels = content.partition(b"ElementDataFile = LOCAL\n")
    return head.decode(), np.frombuffer(voxels, kind)


class Transforms(InAFolder):
    @classmethod
    def setUpClass(cls):
        cls.fixed = tessera.Image(blobs(SHAPE), **PLACE)
        cls.moving = tessera.Image(blobs(SHAPE, 1.0), **PLACE)
        cls.found = tessera.register(cls.fixed, cls.moving, ["Affine", SPLINE], threads=2)
        cls.transform = cls.found.transform
        cls.linear = cls.found.transforms[0]

    def setUp(self):
        super().setUp()
        self.found.save("found")
        self.file = "found/TransformParameters.1.txt"
        random = np.random.default_rng(1)
        index = random.uniform(2, 17, (50, 3))
        self.points = PLACE["origin"] + (index * PLACE["spacing"]) @ PLACE["direction"].T

    def program(self, *words):
        Path("out").mkdir(exist_ok=True)
        program("tessera-transform", "-out", "out", "-q", "-threads", 2, *words)

    def test_images_are_those_of_the_program(self):
        write_mha("m.mha", self.moving)
        np.testing.assert_array_equal(self.transform.apply(self.moving).array, self.found.image.array)
        for labels in False, True:
            image = tessera.Image((self.moving.array > 0).astype(np.uint8) * 7, **PLACE)
            write_mha("m.mha", image)
            Path("T.txt").write_text(
                Path(self.file)
                .read_text()
                .replace('(ResultImagePixelType "short")', "")
                .replace('(ResultImageFormat "nii.gz")', '(ResultImageFormat "mha")')
                .replace('"mhd"', '"mha"')
            )
            self.program("-tp", "T.txt", *(["--labels", "m.mha"] if labels else ["-in", "m.mha"]))
            result = self.transform.apply(image, labels=labels, threads=1)
            self.assertEqual((result.array.dtype, result.grid), (np.uint8, self.fixed.grid))
            self.assertTrue(result.array.flags.writeable)
            _, expected = values_of_mha("out/result.mha", np.uint8)
            np.testing.assert_array_equal(result.array.ravel(), expected)

    def test_fields_and_points_are_those_of_the_program(self):
        text = Path(self.file).read_text()
        Path("T.txt").write_text(text.replace('"nii.gz"', '"mha"').replace('"mhd"', '"mha"'))
        self.program("-tp", "T.txt", "-def", "all", "-jac", "all")
        _, field = values_of_mha("out/deformationField.mha", np.float32)
        np.testing.assert_array_equal(self.transform.displacement().ravel(), field)
        self.assertEqual(self.transform.displacement().shape, (*SHAPE, 3))
        _, determinants = values_of_mha("out/spatialJacobian.mha", np.float32)
        np.testing.assert_array_equal(self.transform.jacobian().ravel(), determinants)
        mapped = self.transform.apply_points(self.points)
        rows = "\n".join(" ".join(map(repr, map(float, point))) for point in self.points)
        Path("points.txt").write_text(f"point\n{len(self.points)}\n{rows}\n")
        self.program("-tp", "T.txt", "-def", "points.txt")
        for row, point in zip(Path("out/outputpoints.txt").read_text().splitlines(), mapped):
            told = row.split("OutputPoint = [")[1].split("]")[0].split()
            np.testing.assert_allclose(np.array(told, float), point, atol=1e-6)

    def test_load_gives_the_same_transform(self):
        loaded = tessera.Transform.load(self.file)
        np.testing.assert_array_equal(loaded.apply_points(self.points), self.transform.apply_points(self.points))
        self.assertEqual(loaded.fixed_grid, self.fixed.grid)
        np.testing.assert_array_equal(loaded.apply(self.moving).array, self.found.image.array)
        self.assertEqual(loaded.maps[-1]["TransformParameters"], self.transform.maps[-1]["TransformParameters"])
        self.assertEqual(len(self.transform.maps), 2)

    def test_pickles_map_alike(self):
        for transform in self.transform, self.transform.inverse(), self.linear @ self.linear.inverse():
            again = pickle.loads(pickle.dumps(transform))
            np.testing.assert_array_equal(again.apply_points(self.points), transform.apply_points(self.points))
            self.assertEqual(again.fixed_grid, transform.fixed_grid)
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(self.transform)).apply(self.moving).array, self.found.image.array
        )

    def test_equal_transforms_are_those_with_the_same_parameters(self):
        of_file = tessera.Transform.load(self.file)
        inverse = tessera.register(self.fixed, self.moving, SPLINE, inverse=True).inverse  # a field in memory
        for transform in self.transform, self.transform.inverse(), self.linear @ self.linear.inverse(), inverse:
            again = pickle.loads(pickle.dumps(transform))
            self.assertEqual((again, hash(again)), (transform, hash(transform)))
        self.assertEqual(of_file, self.transform)
        self.assertEqual(len({of_file, self.transform, self.linear, tessera.Transform.from_maps(of_file.maps)}), 2)
        maps = self.transform.maps
        for entry, value in ("GridOrigin", "1 2 3"), ("TransformParameters", None), ("HowToCombineTransforms", "Add"):
            values = list(maps[1][entry])
            changed = [value] if value and len(values) == 1 else value.split() if value else [*values[:-1], "0.125"]
            other = tessera.Transform.from_maps([maps[0], {**maps[1], entry: changed}])
            self.assertNotEqual(other, self.transform, entry)
        field = self.transform.inverse().apply(self.fixed)
        self.assertNotEqual(inverse, tessera.register(self.fixed, field, SPLINE, inverse=True).inverse)
        for other in self.transform.inverse(), self.linear, tessera.Transform.from_matrix(np.eye(3)), None, 1:
            self.assertNotEqual(self.transform, other)

    def test_indices_are_those_of_arrays(self):
        from scipy.ndimage import map_coordinates

        moving = self.moving.array.astype(np.float32)
        aside = tessera.register(self.fixed, self.moving, {**QUICK, "UseDirectionCosines": False}).transform
        for transform in aside, self.transform:
            places = transform.apply_indices(np.argwhere(np.ones(SHAPE)))
            values = map_coordinates(moving, places.T, order=1, cval=np.nan).reshape(SHAPE)
            inside = np.isfinite(values)
            self.assertGreater(inside.mean(), 0.5)
            image = transform.apply(tessera.Image(moving, **PLACE), order=1).array
            np.testing.assert_allclose(image[inside], values[inside], atol=1e-3)
        np.testing.assert_allclose(self.fixed.grid.points([[1, 2, 3]])[0], (-6, 8.5, 9.5))
        loaded = tessera.Transform.load(self.file)
        with self.assertRaisesRegex(tessera.UsageError, "moving: .*Allowed"):
            loaded.apply_indices([[1, 2, 3]])
        np.testing.assert_array_equal(
            loaded.apply_indices([[1, 2, 3]], moving=self.moving), places.reshape(*SHAPE, 3)[1, 2, 3:4]
        )

    def test_an_inverse_undoes_it(self):
        both = self.transform.inverse() @ self.transform
        np.testing.assert_allclose(both.apply_points(self.points), self.points, atol=1e-6)
        self.assertEqual(self.transform.inverse().fixed_grid, self.moving.grid)
        self.assertIsNone(both.matrix)
        back = self.transform.inverse().apply(self.fixed)
        self.assertGreater(np.corrcoef(back.array.ravel(), self.moving.array.ravel())[0, 1], 0.95)

    def test_matrices_multiply_as_transforms_do(self):
        a = tessera.Transform.from_matrix([[0, -2, 0, 3], [1, 0, 0, 4], [0, 0, 1, 5], [0, 0, 0, 1]])
        b = tessera.Transform.from_matrix([[1, 0, 0, -1], [0, 1, 0.5, 0], [0, 0, 3, 2], [0, 0, 0, 1]])
        np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix)
        np.testing.assert_allclose((a @ b).apply_points([[1, 2, 3]]), a.apply_points(b.apply_points([[1, 2, 3]])))
        np.testing.assert_allclose((a.inverse() @ a).matrix, np.eye(4), atol=1e-12)
        self.assertTrue(a.is_linear and (a @ b).is_linear)
        self.assertIsNone(self.transform.matrix)
        point = self.points[:1]
        np.testing.assert_allclose(self.linear.apply_points(point)[0], (self.linear.matrix @ [*point[0], 1])[:3])

    def test_a_chain_maps_as_its_parts(self):
        shift = tessera.Transform.from_matrix(np.block([[np.eye(3), np.array([[1], [2], [3]])], [np.zeros((1, 3)), 1]]))
        chain = self.transform @ shift
        np.testing.assert_allclose(
            chain.apply_points(self.points), self.transform.apply_points(shift.apply_points(self.points)), atol=1e-9
        )
        started = tessera.register(self.fixed, self.moving, QUICK, initial=self.transform @ self.linear.inverse())
        self.assertEqual(started.transform.dimension, 3)

    def test_files_of_other_programs(self):
        for path in "T.h5", "T.tfm", "T.txt":
            self.linear.save(path)
            np.testing.assert_allclose(
                tessera.Transform.load(path).apply_points(self.points), self.linear.apply_points(self.points), atol=1e-9
            )
        for path in "T.h5", "field.nii.gz":
            self.transform.save(path)
            inside = tessera.Transform.load(path).apply_points(self.points)
            np.testing.assert_allclose(inside, self.transform.apply_points(self.points), atol=0.05)
        self.transform.inverse().save("inverse.nii.gz")
        with self.assertRaises(tessera.UsageError):
            self.transform.save("T.xyz")
        with self.assertRaises(OSError):
            self.linear.save("nosuch/T.tfm")

    def test_grids_orders_and_values_outside(self):
        grid = tessera.Grid((5, 6, 7), (4, 4, 4), (1000, 0, 0))
        outside = self.linear.apply(self.moving, grid=grid, default=-5)
        self.assertEqual((outside.grid, set(outside.array.ravel())), (grid, {-5}))
        nearest = self.linear.apply(self.moving, grid=self.fixed, order=0)
        self.assertLessEqual(set(nearest.array.ravel()), {0, *self.moving.array.ravel()})
        self.assertFalse(np.array_equal(self.linear.apply(self.moving, order=1).array, nearest.array))

    def test_directions_left_aside(self):
        aside = {**QUICK, "UseDirectionCosines": False}
        found = tessera.register(self.fixed, self.moving, aside)
        write_mha("f.mha", self.fixed)
        write_mha("m.mha", self.moving)
        np.testing.assert_array_equal(found.transform.apply(self.moving).array, found.image.array)
        again = pickle.loads(pickle.dumps(found.transform))
        np.testing.assert_array_equal(again.apply(self.moving).array, found.image.array)

    def test_errors(self):
        transform = tessera.Transform.from_matrix(np.eye(4))
        for call in (
            lambda: transform.apply(self.moving),
            lambda: transform.apply(self.moving, grid=self.fixed, order=6),
            lambda: transform.apply_points([[1, 2]]),
            lambda: transform.apply_points([1, 2, 3]),
            lambda: transform @ tessera.Transform.from_matrix(np.eye(3)),
            lambda: tessera.Transform.from_matrix([[1, 2], [3, 4]]),
            lambda: tessera.Transform(),
            lambda: transform.apply(np.zeros((3, 3)), grid=self.fixed),
        ):
            with self.assertRaisesRegex(tessera.UsageError, "Allowed"):
                call()
        for path in "nosuch.txt", "nosuch.h5":
            with self.assertRaisesRegex(tessera.InputError, path):
                tessera.Transform.load(path)
        np.testing.assert_array_equal(transform.apply_points(np.empty((0, 3))), np.empty((0, 3)))


if __name__ == "__main__":
    main()
