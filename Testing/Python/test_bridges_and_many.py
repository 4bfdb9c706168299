"""Transforms go to itk, SimpleITK and ants and come back; many registrations run at once."""

import os
import tempfile
import time
import unittest

import numpy as np
import tessera
from support import ENDLESS, QUICK, blobs, main

SHAPE = (16, 18, 20)
PLACE = {"spacing": (1.5, 2, 2.5), "origin": (-10, 4, 7), "direction": np.eye(3)[[1, 0, 2]]}


def spline(order=3):
    return {
        **QUICK,
        "Transform": "BSplineTransform",
        "BSplineTransformSplineOrder": order,
        "FinalGridSpacingInVoxels": 8,
    }


class Bridges(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fixed, moving = tessera.Image(blobs(SHAPE), **PLACE), tessera.Image(blobs(SHAPE, 1), **PLACE)
        cls.transforms = {}
        for name in "TranslationTransform", "EulerTransform", "SimilarityTransform", "AffineTransform":
            cls.transforms[name] = tessera.register(fixed, moving, {**QUICK, "Transform": name}).transform
        for order in 1, 2, 3:
            cls.transforms[f"BSpline{order}"] = tessera.register(fixed, moving, spline(order)).transform
        cls.transforms["chain"] = tessera.register(
            fixed, moving, [{**QUICK, "Transform": "AffineTransform"}, spline()]
        ).transform
        cls.transforms["inverse"] = cls.transforms["AffineTransform"].inverse()
        cls.transforms["2D"] = tessera.register(
            blobs((30, 32)), blobs((30, 32), 1), {**QUICK, "Transform": "EulerTransform"}
        ).transform
        index = np.random.default_rng(1).uniform(2, 13, (20, 3))
        cls.points = PLACE["origin"] + (index * PLACE["spacing"]) @ PLACE["direction"].T

    def points_of(self, transform):
        return self.points[:, : transform.dimension]

    def there_and_back(self, send):
        for name, transform in self.transforms.items():
            with self.subTest(name):
                if send is tessera.Transform.to_itk and name in ("BSpline1", "BSpline2"):
                    with self.assertRaisesRegex(tessera.UsageError, "order"):
                        send(transform)
                    continue
                points = self.points_of(transform)
                expected = transform.apply_points(points)
                other = send(transform)
                theirs = np.array([other.TransformPoint(point.tolist()) for point in points])
                np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-9)
                again = tessera.Transform.from_itk(other)
                np.testing.assert_allclose(again.apply_points(points), expected, rtol=0, atol=1e-9)

    def test_simple_itk(self):
        try:
            import SimpleITK  # noqa: F401
        except ImportError:
            self.skipTest("SimpleITK is not installed")
        self.there_and_back(tessera.Transform.to_sitk)
        with self.assertRaisesRegex(tessera.UsageError, "inverse"):
            self.transforms["chain"].inverse().to_sitk()
        fixed, moving = tessera.Image(blobs(SHAPE), **PLACE), tessera.Image(blobs(SHAPE, 1), **PLACE)
        start = self.transforms["AffineTransform"]
        stays = {**QUICK, "MaximumNumberOfIterations": 1, "MaximumStepLength": 1e-9}
        found = tessera.register(fixed, moving, stays, initial=start.to_sitk()).transform
        np.testing.assert_allclose(found.matrix, start.matrix, atol=1e-6)

    def test_itk(self):
        try:
            import itk  # noqa: F401
        except ImportError:
            self.skipTest("itk is not installed")
        self.there_and_back(tessera.Transform.to_itk)

    def test_ants(self):
        try:
            import ants
        except ImportError:
            self.skipTest("ants is not installed")
        for name, transform in self.transforms.items():
            points = self.points_of(transform)
            other = transform.to_ants()
            theirs = np.array([other.apply_to_point(point.tolist()) for point in points])
            atol = 1e-4 if transform.is_linear else 0.1  # ants has floats, and displacements lie on the grid
            np.testing.assert_allclose(theirs, transform.apply_points(points), rtol=0, atol=atol, err_msg=name)
            again = tessera.Transform.from_ants(other)
            np.testing.assert_allclose(again.apply_points(points), theirs, rtol=0, atol=1e-4, err_msg=name)
        both = [self.transforms[name].to_ants() for name in ("BSpline3", "EulerTransform")]
        theirs = [ants.compose_ants_transforms(both).apply_to_point(point.tolist()) for point in self.points]
        again = tessera.Transform.from_ants(both)
        np.testing.assert_allclose(again.apply_points(self.points), theirs, rtol=0, atol=1e-4)
        with self.assertRaisesRegex(tessera.UsageError, "Allowed: a list"):
            tessera.Transform.from_ants(ants.compose_ants_transforms(both))

    def test_files_of_ants(self):
        chain = self.transforms["chain"]
        with tempfile.TemporaryDirectory() as folder:
            chain.save(f"{folder}/t", "ants")
            again = tessera.Transform.from_ants([f"{folder}/t1Warp.nii.gz", f"{folder}/t0GenericAffine.mat"])
        np.testing.assert_allclose(again.apply_points(self.points), chain.apply_points(self.points), atol=0.1)

    def test_what_is_no_transform(self):
        with self.assertRaisesRegex(tessera.UsageError, "Allowed"):
            tessera.Transform.from_itk(np.eye(4))
        with self.assertRaisesRegex(tessera.UsageError, "Allowed"):
            tessera.Transform.from_ants(np.eye(4))


class Many(unittest.TestCase):
    def setUp(self):
        self.fixed = blobs((30, 32))
        self.moving = [blobs((30, 32), shift) for shift in (0.5, 1, 1.5, 2)]

    def test_results_are_those_of_one_by_one_and_in_order(self):
        expected = [tessera.register(self.fixed, moving, QUICK).transform.matrix for moving in self.moving]
        for lanes in 1, 3, None:
            pairs = ((self.fixed, moving) for moving in self.moving)
            found = list(tessera.register_many(pairs, QUICK, lanes=lanes))
            for one, matrix in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.transform.matrix, matrix)

    def test_a_pair_that_fails_does_not_stop_the_others(self):
        pairs = [
            (self.fixed, self.moving[0]),
            (self.fixed, self.moving[0][:, :0]),
            (self.fixed, "nosuch.nii"),
            ([1], 2),
            {"fixed": self.fixed, "moving": self.moving[1], "fixed_mask": np.ones((30, 32), bool)},
        ]
        kinds = [type(one) for one in tessera.register_many(pairs, QUICK, lanes=2)]
        self.assertEqual(
            kinds,
            [tessera.Registration, tessera.InputError, tessera.InputError, tessera.UsageError, tessera.Registration],
        )

    def test_pairs_are_read_as_they_are_needed(self):
        asked = 0

        def pairs():
            nonlocal asked
            for moving in self.moving * 3:
                asked += 1
                yield self.fixed, moving

        results = tessera.register_many(pairs(), QUICK, lanes=2)
        next(results)
        self.assertLessEqual(asked, 9)
        results.close()

    def test_leaving_the_loop_ends_what_runs(self):
        def threads():
            return len(os.listdir("/proc/self/task"))

        before = threads()
        results = tessera.register_many(
            [(self.fixed, "nosuch.nii"), *[(self.fixed, m) for m in self.moving]], ENDLESS, lanes=3
        )
        self.assertIsInstance(next(results), tessera.InputError)
        self.assertGreater(threads(), before)
        results.close()
        for _ in range(1000):
            if threads() <= before:
                break
            time.sleep(0.01)
        self.assertLessEqual(threads(), before)

    def test_errors(self):
        for more in {"lanes": 0}, {"lanes": 1.5}, {"threads": 2}:
            with self.assertRaisesRegex(tessera.UsageError, "Allowed"):
                list(tessera.register_many([], QUICK, **more))


if __name__ == "__main__":
    main()
