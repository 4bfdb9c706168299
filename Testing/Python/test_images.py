"""Images of other packages are recognised, with their places, and results are of their kind."""

import itertools
import sys
import unittest

import numpy as np
import tessera
from support import QUICK, InAFolder, blobs, main

SHAPE = (7, 8, 9)


def orientations():
    """All 48 permutations and mirrorings of three axes."""
    for axes in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            yield np.eye(3)[list(axes)] * signs


class Own(unittest.TestCase):
    def test_orders_of_axes(self):
        array = np.zeros((2, 3, 4), np.int16)
        image = tessera.Image(array, spacing=(1, 2, 3), origin=(4, 5, 6))
        self.assertEqual((image.grid.size, image.grid.shape), ((4, 3, 2), (2, 3, 4)))
        self.assertEqual(tessera.Image(array, scale=(3, 2, 1)).spacing, image.spacing)
        self.assertIs(image.array, array)
        self.assertIs(np.asarray(image), array)
        self.assertEqual(np.asarray(image, float).dtype, float)

    def test_what_does_not_go_together(self):
        array = np.zeros((2, 3, 4))
        for wrong in (
            {"spacing": (1, 1)},
            {"origin": (1,)},
            {"direction": np.eye(2)},
            {"spacing": (1, 1, 1), "scale": (1, 1, 1)},
        ):
            with self.assertRaises(tessera.UsageError):
                tessera.Image(array, **wrong)

    def test_grids_compare_and_are_pickled(self):
        import pickle

        grid = tessera.Grid((4, 3), (1, 2), (5, 6), [[0, 1], [1, 0]])
        self.assertEqual(pickle.loads(pickle.dumps(grid)), grid)
        self.assertEqual(len({grid, tessera.Grid((4, 3), (1, 2), (5, 6), [0, 1, 1, 0])}), 1)
        self.assertNotEqual(grid, tessera.Grid((4, 3)))
        image = pickle.loads(pickle.dumps(tessera.Image(np.ones((3, 4)), (1, 2))))
        self.assertEqual(image.spacing, (1.0, 2.0))


class Others(InAFolder):
    def there_and_back(self, make, place_of):
        """Voxels and the place of a voxel are kept in all orientations; place_of(image, index) is by the package."""
        array = np.arange(np.prod(SHAPE), dtype=np.int16).reshape(SHAPE)
        index = np.array([2.0, 5, 3])
        for direction in orientations():
            image = tessera.Image(array, (0.7, 1.3, 2.1), (10.5, -20.25, 3.125), direction)
            other = make(image)
            place = image.origin + direction @ (np.array(image.spacing) * index)
            np.testing.assert_allclose(place_of(other, index), place, rtol=0, atol=1e-9)
            again = tessera._images.image_of(other, "test")
            np.testing.assert_array_equal(again.array, array)
            for ours, theirs in (
                (again.spacing, image.spacing),
                (again.origin, image.origin),
                (again.direction, image.direction),
            ):
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
            result = tessera._images.like(other, array, image.grid)
            self.assertIs(type(result), type(other))
            np.testing.assert_allclose(place_of(result, index), place, rtol=0, atol=1e-9)

    def registers(self, make):
        """A registration of such images is that of arrays."""
        fixed, moving = blobs((20, 24)), blobs((20, 24), 1)
        expected = tessera.register(fixed, moving, QUICK).image
        image = tessera.register(make(tessera.Image(fixed)), make(tessera.Image(moving)), QUICK).image
        np.testing.assert_array_equal(tessera._images.image_of(image, "test").array, expected)

    def test_simple_itk(self):
        self.package("SimpleITK")
        make = tessera._images._to_simple_itk
        self.there_and_back(make, lambda image, index: image.TransformContinuousIndexToPhysicalPoint(index.tolist()))
        self.registers(make)

    def test_itk(self):
        self.package("itk")

        def make(image):
            return tessera._images.to_itk(image.array, image.grid)

        self.there_and_back(
            make, lambda image, index: np.array(image.TransformIndexToPhysicalPoint([int(i) for i in index]))
        )
        self.registers(make)

    def test_nibabel(self):
        nibabel = self.package("nibabel")
        ras = np.array([-1.0, -1, 1])
        self.there_and_back(
            lambda image: tessera._images._to_nibabel(image, nibabel.Nifti1Image),
            lambda image, index: ras * nibabel.affines.apply_affine(image.affine, index),
        )
        sheared = np.eye(4)
        sheared[0, 1] = 0.3
        with self.assertRaisesRegex(tessera.UsageError, "perpendicular"):
            tessera._images.image_of(nibabel.Nifti1Image(np.zeros(SHAPE, np.float32), sheared), "fixed")

    def test_nibabel_is_read_as_the_file_is(self):
        nibabel = self.package("nibabel")
        image = tessera.Image(blobs(SHAPE), (1, 2, 3), (4, 5, 6), np.eye(3)[[1, 2, 0]])
        other = tessera._images._to_nibabel(image, nibabel.Nifti1Image)
        nibabel.save(other, "image.nii")
        moving = blobs(SHAPE, 0.5)
        in_memory = tessera.register(other, tessera.Image(moving, (1, 2, 3), (4, 5, 6), np.eye(3)[[1, 2, 0]]), QUICK)
        of_file = tessera.register(
            "image.nii", tessera.Image(moving, (1, 2, 3), (4, 5, 6), np.eye(3)[[1, 2, 0]]), QUICK
        )
        np.testing.assert_allclose(
            in_memory.transform.apply_points([[1, 2, 3]]), of_file.transform.apply_points([[1, 2, 3]]), atol=1e-5
        )
        self.assertIsInstance(in_memory.image, nibabel.Nifti1Image)

    def test_xarray(self):
        xarray = self.package("xarray")
        example = xarray.DataArray(np.zeros((1, 1, 1)), dims=("z", "y", "x"), attrs={"direction": np.eye(3)})

        def place_of(image, index):
            start = np.array([float(image.coords[axis][0]) for axis in "xyz"])
            steps = np.array([float(image.coords[axis][1] - image.coords[axis][0]) for axis in "xyz"])
            return start + np.flip(image.attrs["direction"]) @ (steps * index)

        make = lambda image: tessera._images.like(example, image.array, image.grid)  # noqa: E731
        self.there_and_back(make, place_of)
        uneven = xarray.DataArray(np.zeros((3, 3)), dims=("y", "x"), coords={"x": [0.0, 1, 3], "y": [0, 1, 2]})
        with self.assertRaisesRegex(tessera.UsageError, "equal steps"):
            tessera._images.image_of(uneven, "fixed")

    def test_torch(self):
        torch = self.package("torch")
        fixed, moving = blobs((20, 24)), blobs((20, 24), 1)
        result = tessera.register(torch.from_numpy(fixed), torch.from_numpy(moving), QUICK)
        self.assertIsInstance(result.image, torch.Tensor)
        np.testing.assert_array_equal(result.image.numpy(), tessera.register(fixed, moving, QUICK).image)

    def test_other_arrays_are_what_numpy_takes(self):
        def lent(array, *ways):
            members = {name: lambda self, *more, way=getattr(array, name), **ways: way(*more, **ways) for name in ways}
            return type("Lent", (), members)()

        class Described:
            def __init__(self, array):
                self.__array_interface__ = array.__array_interface__

        fixed, moving = blobs((20, 24)), blobs((20, 24), 1)
        expected = tessera.register(fixed, moving, QUICK)
        for lend in (
            Described,
            lambda array: lent(array, "__array__"),
            lambda array: lent(array, "__dlpack__", "__dlpack_device__"),
        ):
            found = tessera.register(lend(fixed), lend(moving), QUICK)
            self.assertIsInstance(found.image, np.ndarray)
            np.testing.assert_array_equal(found.image, expected.image)

        class Elsewhere:
            def __dlpack_device__(self):
                return 2, 0  # CUDA

            def __dlpack__(self, **more):
                raise BufferError("it is on a device")

        with self.assertRaisesRegex(tessera.UsageError, "it is on a device. Allowed: arrays on the CPU"):
            tessera.register(Elsewhere(), moving, QUICK)
        shared = np.from_dlpack(tessera.Image(fixed))
        self.assertTrue(np.shares_memory(shared, fixed))

    def test_memory_of_arrays_is_not_copied_on_its_way(self):
        class Lent:
            def __init__(self, array):
                self.__array_interface__ = array.__array_interface__

        fixed = blobs((20, 24))
        for strided in fixed, fixed[::2, ::-1], fixed.T:
            image = tessera._images.image_of(Lent(strided), "fixed")
            self.assertTrue(np.shares_memory(tessera._images.array_of(image, "fixed"), fixed))
        try:
            import torch
        except ImportError:
            return
        tensor = torch.from_numpy(fixed)
        for strided in tensor, tensor[::2], tensor.T:
            image = tessera._images.image_of(strided, "fixed")
            self.assertTrue(np.shares_memory(tessera._images.array_of(image, "fixed"), fixed))
        self.assertTrue(np.shares_memory(torch.from_dlpack(tessera.Image(fixed)).numpy(), fixed))

    def test_nothing_is_imported_to_recognise_an_image(self):
        before = set(sys.modules)
        tessera.register(blobs((20, 24)), blobs((20, 24), 1), QUICK).image
        new = {name.partition(".")[0] for name in set(sys.modules) - before}
        self.assertFalse(new & {"itk", "SimpleITK", "nibabel", "xarray", "torch", "ants"})


if __name__ == "__main__":
    main()
