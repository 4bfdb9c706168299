"""What the notebooks of ITKElastix do, with small images and few iterations: each test names the notebooks it stands for.
Testing/Benchmarks/itkelastix-notebooks runs the notebooks themselves."""

import sys
from pathlib import Path

import numpy as np
import tessera
import tessera.elastix as itk
from support import InAFolder, blobs, main

try:
    import itk as itk_itself  # noqa: F401
except ImportError:
    print("skipped: itk is not installed")
    sys.exit(77)

POINTS = "point\n3\n10 12\n20.5 8\n4 25\n"


def image(shape=(32, 40), shift=0.0, dtype=np.float32):
    return itk.image_from_array(blobs(shape, shift).astype(dtype))


def box(x1, x2, y1, y2, shape=(40, 40), dtype=np.float32):
    array = np.zeros(shape, dtype)
    array[y1:y2, x1:x2] = 1
    return itk.image_view_from_array(array)


def maps(*names, **changes):
    made = itk.ParameterObject.New()
    for name in names:
        made.AddParameterMap(itk.ParameterObject.GetDefaultParameterMap(name, 2))
    for name, value in {"MaximumNumberOfIterations": ["12"], **changes}.items():
        made.SetParameter(name, value)
    return made


def registered(fixed, moving, parameter_object, **settings):
    """The results of an object, which are those of the function."""
    method = itk.ElastixRegistrationMethod.New(fixed, moving)
    method.SetParameterObject(parameter_object)
    method.SetLogToConsole(False)
    for name, value in settings.items():
        getattr(method, "Set" + "".join(word.capitalize() for word in name.split("_")))(value)
    method.UpdateLargestPossibleRegion()
    of_function = itk.elastix_registration_method(fixed, moving, parameter_object=parameter_object, **settings)
    np.testing.assert_array_equal(method.GetOutput(), of_function[0])
    assert method.GetTransformParameterObject().GetParameterMaps() == of_function[1].GetParameterMaps()
    assert itk.template(of_function[0]) == itk.template(fixed)
    return of_function


def translation(*offset):
    made = itk.TranslationTransform[itk.D, len(offset)].New()
    made.SetOffset(offset)
    return made


def grid_map(columns, rows, **more):
    one = {"Direction": ("1", "0", "0", "1"), "Index": ("0", "0"), "Origin": ("0", "0"), "Spacing": ("1", "1")}
    return {**one, "Size": (str(columns), str(rows)), **more}


def itk_numbers(texts):
    numbers = itk.OptimizerParameters[itk.D](len(texts))
    for place, text in enumerate(texts):
        numbers[place] = float(text)
    return numbers


class Registrations(InAFolder):
    def test_plain_ones(self):
        """1_NumPyArray, Example01, 03, 14, UnitTest 1, 2, 4"""
        moved = np.roll(np.asarray(image()), 1, axis=1)
        placed = image((12, 14, 16))
        placed.SetOrigin([-30, 4, 100])
        placed.SetSpacing([1.5, 2, 2.5])
        mask = itk.image_from_array(np.ones((12, 14, 16), np.uint8))
        mask.CopyInformation(placed)
        flat = box(0, 40, 0, 36, dtype=np.uint8)
        for fixed, moving, parameters, settings in (
            (image(), itk.image_from_array(moved), maps("translation", "affine", "bspline"), {}),
            (image(), image(shift=1), maps("rigid"), {}),
            (placed, placed, maps("affine", WriteResultImage="true"), {"fixed_mask": mask, "moving_mask": mask}),
            (placed, placed, maps("rigid"), {}),
            (box(10, 30, 10, 30), box(6, 26, 4, 24), maps("rigid"), {}),
            (box(10, 30, 10, 30), box(2, 30, 2, 36), maps("affine", FinalBSplineInterpolationOrder=["0"]), {}),
            (box(10, 30, 10, 30), box(6, 26, 4, 24), maps("rigid"), {"fixed_mask": flat, "moving_mask": flat}),
        ):
            result, found = registered(fixed, moving, parameters, **settings)
            self.assertEqual(result.GetOrigin(), fixed.GetOrigin())
            self.assertEqual(found.GetNumberOfParameterMaps(), parameters.GetNumberOfParameterMaps())

    def test_custom_maps(self):
        """Example02"""
        parameters = itk.ParameterObject.New()
        parameters.AddParameterMap(itk.ParameterObject.GetDefaultParameterMap("rigid", 1))
        parameters.AddParameterMap(itk.ParameterObject.GetDefaultParameterMap("bspline", 1, 20.0))
        custom = itk.ParameterObject.GetDefaultParameterMap("rigid", 1)
        custom["Transform"] = ["BSplineTransform"]
        custom["Metric"] = ["AdvancedMattesMutualInformation"]
        itk.ParameterObject.WriteParameterFile(custom, "custom.txt")
        parameters.AddParameterFile("custom.txt")
        parameters.SetParameter(2, "NumberOfResolutions", "2")
        parameters.SetParameter("MaximumNumberOfIterations", "5")
        parameters.RemoveParameter("ResultImageFormat")
        for index in range(parameters.GetNumberOfParameterMaps()):
            itk.ParameterObject.WriteParameterFile(parameters.GetParameterMap(index), f"{index}.txt")
        again = itk.ParameterObject.New()
        again.ReadParameterFiles([f"{index}.txt" for index in range(3)])
        self.assertEqual(str(again), str(parameters))
        result, _ = registered(image(), image(shift=1), again)
        np.testing.assert_array_equal(result, registered(image(), image(shift=1), parameters)[0])

    def test_a_start(self):
        """Example04, 17, 18"""
        start = translation(2, -1)
        affine = itk.AffineTransform[itk.D, 2].New()
        affine.Translate([2, -1])
        _, found = itk.elastix_registration_method(image(), image(shift=1), maps("translation"))
        itk.ParameterObject.WriteParameterFile(found.GetParameterMap(0), "start.txt")
        registered(image(), image(shift=1), maps("affine"), initial_transform=affine)
        registered(image(), image(shift=1), maps("affine"), external_initial_transform=start)
        settings = {"initial_transform_parameter_file_name": "start.txt", "number_of_threads": 2}
        _, found = registered(image(), image(shift=1), maps("rigid"), **settings)
        self.assertEqual(found.GetParameter(0, "InitialTransformParameterFileName"), ("start.txt",))

    def test_points(self):
        """Example05, RegistrationWithCorrespondingPointsInMemory"""
        Path("f.txt").write_text(POINTS)
        Path("m.txt").write_text(POINTS.replace("10 12", "12 12"))
        parameters = maps("rigid", Registration=["MultiMetricMultiResolutionRegistration"])
        parameters.SetParameter(
            "Metric", ("AdvancedNormalizedCorrelation", "CorrespondingPointsEuclideanDistanceMetric")
        )
        names = {"fixed_point_set_file_name": "f.txt", "moving_point_set_file_name": "m.txt"}
        result, found = itk.elastix_registration_method(image(), image(shift=1), parameters, **names)
        sets = []
        for first in (10.0, 12.0), (12.0, 12.0):
            points = itk.PointSet[itk.UC, 2].New()
            container = points.GetPoints().CastToSTLContainer()
            for point in first, (20.5, 8.0), (4.0, 25.0):
                container.push_back(point)
            sets.append(points)
        method = itk.ElastixRegistrationMethod.New(
            fixed_image=image(),
            moving_image=image(shift=1),
            parameter_object=parameters,
            fixed_points=sets[0].GetPoints(),
            moving_points=sets[1].GetPoints(),
        )
        method.Update()
        np.testing.assert_array_equal(method.GetOutput(), result)
        transform = method.GetNthTransform(0)
        self.assertEqual(
            list(map(float, found.GetParameter(0, "TransformParameters"))), list(transform.GetParameters())
        )
        self.assertEqual(len(itk.array_view_from_vnl_vector(transform.GetParameters())), 3)
        self.assertEqual(len(transform.TransformPoint((10.0, 12.0))), 2)
        self.assertEqual((method.GetFixedImage().shape, method.GetMovingImage().shape), ((32, 40), (32, 40)))

    def test_several_images(self):
        """Example07"""
        parameters = maps("translation", Registration=["MultiMetricMultiResolutionRegistration"])
        parameters.SetParameter("Metric", ["AdvancedMeanSquares", "AdvancedNormalizedCorrelation"])
        for role in "FixedImagePyramid", "MovingImagePyramid", "Interpolator", "ImageSampler":
            parameters.SetParameter(role, [parameters.GetParameter(0, role)[0]] * 2)
        registered(image(), image(shift=1), parameters)
        method = itk.ElastixRegistrationMethod.New(image(), image(shift=1))
        method.AddFixedImage(image(shift=0.5))
        method.AddMovingImage(image(shift=1.5))
        method.SetParameterObject(parameters)
        method.UpdateLargestPossibleRegion()
        self.assertEqual(method.GetNumberOfFixedImages(), 2)
        self.assertEqual(method.GetOutput().shape, (32, 40))

    def test_groups_of_images(self):
        """Example06, UnitTest5"""
        parameters = itk.ParameterObject.New()
        parameters.AddParameterMap(itk.ParameterObject.GetDefaultParameterMap("groupwise", 2))
        parameters.SetParameter(0, "MaximumNumberOfIterations", "50")
        series = itk.image_from_array(np.stack([blobs((32, 40), shift) for shift in (-1, 0, 1)]).astype(np.float32))
        result, found = registered(series, series, parameters)
        self.assertEqual(found.GetParameterMap(0)["Transform"], ("BSplineStackTransform",))
        variance = lambda images: np.asarray(images)[:, 6:-6, 6:-6].var(axis=0).mean()
        self.assertLess(variance(result), 0.5 * variance(series))
        cubes = np.zeros((3, 10, 12, 14), np.float32)
        for time, cube in enumerate(cubes):
            cube[2:8, 3:9, 3 + time : 9 + time] = 1
        parameters.SetParameter(0, "Transform", "TranslationStackTransform")
        parameters.SetParameter(0, "AutomaticScalesEstimation", "true")
        parameters.SetParameter(0, "ImageSampler", "Full")
        parameters.SetParameter(0, "NumberOfResolutions", "1")
        result, _ = registered(itk.image_from_array(cubes), itk.image_from_array(cubes), parameters)
        self.assertEqual(np.asarray(result).shape, cubes.shape)
        self.assertLess(np.asarray(result).var(axis=0).mean(), 0.5 * cubes.var(axis=0).mean())

    def test_voxel_types(self):
        """Example20"""
        parameters = maps("rigid")
        for dtype in np.uint8, np.int16, np.uint16, np.float32, np.float64:
            fixed = image((12, 14, 16), dtype=dtype)
            result, found = registered(fixed, fixed, parameters)
            self.assertEqual(itk.template(itk.transformix_filter(fixed, found)), itk.template(fixed))
            self.assertEqual(np.asarray(result).dtype, dtype)
        still = itk.ParameterObject.New()
        still.AddParameterMap(found.GetParameterMap(0))
        still.SetParameter(0, "FinalBSplineInterpolationOrder", "1")
        still.SetParameter(0, "TransformParameters", 6 * ["0"])
        still.SetParameter(0, "FixedInternalImagePixelType", "short")
        fixed = image((12, 14, 16))
        np.testing.assert_array_equal(itk.transformix_filter(fixed, transform_parameter_object=still), fixed)

    def test_scales(self):
        """Example21"""
        turn = itk.Euler2DTransform.New()
        turn.SetAngleInDegrees(15)
        turn.SetCenter([20, 20])
        fixed = box(10, 30, 10, 30)
        method = itk.TransformixFilter.New(fixed)
        method.SetMovingImage(fixed)
        method.SetTransformParameterObject(
            itk.ParameterObject.New(grid_map(40, 40, FinalBSplineInterpolationOrder="0"))
        )
        method.SetTransform(turn)
        method.Update()
        self.assertEqual(set(np.unique(method.GetOutput())), {0, 1})
        scales = ("1000", "1", str(np.finfo(np.float32).max))
        parameters = maps(
            "rigid", FinalBSplineInterpolationOrder="0", AutomaticScalesEstimation=("false",), Scales=scales
        )
        _, found = registered(fixed, method.GetOutput(), parameters)
        self.assertLess(abs(float(found.GetParameter(0, "TransformParameters")[2])), 1e-6)

    def test_toml(self):
        """TomlFileFormatForParameterFiles"""
        Path("stage.toml").write_text(
            'ImageSampler = "Full"\nMaximumNumberOfIterations = 2\nMetric = "AdvancedNormalizedCorrelation"\n'
            'Optimizer = "AdaptiveStochasticGradientDescent"\nOutputTransformParameterFileFormat = "TOML"\n'
            'Transform = "TranslationTransform"\n'
        )
        Path("start.toml").write_text(
            'CenterOfRotationPoint = [ 0.0, 0.0 ]\nNumberOfParameters = 3\nTransform = "EulerTransform"\n'
            "TransformParameters = [ 0.1, 0.0, 0.0 ]\n"
        )
        parameters = itk.ParameterObject.New()
        parameters.ReadParameterFile("stage.toml")
        result, _ = itk.elastix_registration_method(
            fixed_image=image(dtype=np.int16),
            moving_image=image(shift=1, dtype=np.int16),
            initial_transform_parameter_file_name="start.toml",
            parameter_object=parameters,
            output_directory="out",
        )
        again = itk.transformix_filter(
            image(shift=1, dtype=np.int16), transform_parameter_file_name="out/TransformParameters.0.toml"
        )
        np.testing.assert_array_equal(result, again)
        of_dict = itk.dict_to_parameter_object({"Transform": "TranslationTransform", "TransformParameters": [1.25, -8]})
        self.assertEqual(of_dict.GetParameter(0, "TransformParameters"), ("1.25", "-8"))

    def test_the_button_of_the_app(self):
        """Registration_App"""
        parameters = maps("rigid", "affine", "bspline")
        parameters.RemoveParameter("ResultImageFormat")
        settings = {"log_to_file": True, "log_file_name": "my.log", "output_directory": "."}
        result, _ = itk.elastix_registration_method(image(), image(shift=1), parameter_object=parameters, **settings)
        self.assertTrue(Path("my.log").read_text())
        itk.imwrite(result, "result.nrrd", compression=True)
        self.assertTrue(Path("TransformParameters.2.txt").exists())


class Transforms(InAFolder):
    @classmethod
    def setUpClass(cls):
        cls.fixed, cls.moving = image(), image(shift=1)
        cls.result, cls.found = itk.elastix_registration_method(cls.fixed, cls.moving, maps("rigid", "bspline"))

    def test_images_and_masks(self):
        """Example08, 09, UnitTest3"""
        method = itk.TransformixFilter.New(self.moving)
        method.SetTransformParameterObject(self.found)
        method.UpdateLargestPossibleRegion()
        np.testing.assert_array_equal(method.GetOutput(), self.result)
        np.testing.assert_array_equal(itk.transformix_filter(self.moving, self.found), self.result)
        nearest = itk.ParameterObject.New(self.found.GetParameterMaps())
        nearest.SetParameter("FinalBSplineInterpolationOrder", "0")
        mask = itk.transformix_filter(box(4, 30, 5, 20, (32, 40), np.uint8), nearest)
        self.assertEqual((np.asarray(mask).dtype, set(np.unique(mask))), (np.uint8, {0, 1}))

    def test_point_files(self):
        """Example09, UnitTest6"""
        Path("points.txt").write_text(POINTS)
        arguments = {"fixed_point_set_file_name": "points.txt", "output_directory": "./out"}
        rows = itk.transformix_pointset(self.moving, self.found, **arguments)
        method = itk.TransformixFilter.New(self.moving)
        method.SetFixedPointSetFileName("points.txt")
        method.SetTransformParameterObject(self.found)
        method.SetOutputDirectory("object/")
        method.UpdateLargestPossibleRegion()
        for folder in "out", "object":
            np.testing.assert_array_equal(np.loadtxt(f"{folder}/outputpoints.txt", dtype="str"), rows)
        last = Path("out/outputpoints.txt").read_text().splitlines()[-1].partition("OutputIndexMoving =")[2]
        self.assertEqual(len(last.strip(" []").split()), 2)

    def test_jacobians_and_displacements(self):
        """Example10, 11"""
        matrices, determinants = itk.transformix_jacobian(self.moving, self.found)
        matrices = np.asarray(matrices).astype(np.float32)
        np.testing.assert_allclose(np.linalg.det(matrices), np.asarray(determinants), atol=1e-4)
        field = itk.transformix_deformation_field(self.moving, self.found)
        self.assertEqual(type(field), itk.Image[itk.Vector[itk.F, 2], 2])
        method = itk.TransformixFilter.New(self.moving)
        method.SetTransformParameterObject(self.found)
        method.SetComputeSpatialJacobian(True)
        method.SetComputeDeterminantOfSpatialJacobian(True)
        method.SetComputeDeformationField(True)
        method.SetOutputDirectory("out/")
        method.UpdateLargestPossibleRegion()
        np.testing.assert_array_equal(method.GetOutputDeformationField(), field)
        np.testing.assert_array_equal(itk.imread("out/spatialJacobian.nii", itk.F), determinants)
        self.assertEqual(itk.imread("out/fullSpatialJacobian.nii").GetNumberOfComponentsPerPixel(), 4)
        np.testing.assert_array_equal(itk.imread("out/deformationField.nii"), field)
        np.testing.assert_array_equal(method.ComputeSpatialJacobianDeterminantImage(), determinants)
        self.assertEqual(method.ComputeSpatialJacobianMatrixImage().shape, (32, 40, 2, 2))

    def test_an_inverse_by_registration(self):
        """Example11"""
        _, found = itk.elastix_registration_method(self.fixed, self.moving, maps("rigid"), output_directory="out")
        start = "out/TransformParameters.0.txt"
        _, inverse = itk.elastix_registration_method(
            self.fixed, self.fixed, parameter_object=maps("rigid"), initial_transform_parameter_file_name=start
        )
        both = tessera.Transform.from_maps(inverse.GetParameterMaps())
        inverse.SetParameter(0, "InitialTransformParametersFileName", "NoInitialTransform")
        alone = tessera.Transform.from_maps(inverse.GetParameterMaps())
        forth = tessera.Transform.from_maps(found.GetParameterMaps())
        points = np.array([[10.0, 12], [20, 8]])
        np.testing.assert_allclose(both.apply_points(points), alone.apply_points(forth.apply_points(points)))
        field = itk.transformix_deformation_field(self.fixed, inverse)
        np.testing.assert_allclose(np.asarray(field)[8, 20], alone.apply_points([[20, 8]])[0] - [20, 8], atol=1e-5)

    def test_other_grids(self):
        """Example12, UnitTest7"""
        sparse, dense = box(10, 30, 10, 30), box(20, 60, 20, 60, (80, 80))
        sparse.SetSpacing([2, 2])
        sparse.SetOrigin([0.5, 0.5])
        _, found = itk.elastix_registration_method(sparse, sparse, maps("affine", FinalBSplineInterpolationOrder="0"))
        self.assertEqual(itk.transformix_filter(dense, transform_parameter_object=found).shape, (40, 40))
        found.SetParameter("Size", ["80", "80"])
        found.SetParameter("Spacing", ["1", "1"])
        found.SetParameter("Origin", ["0", "0"])
        large = itk.transformix_filter(dense, found, log_to_console=False)
        self.assertEqual((large.shape, list(large.GetSpacing())), ((80, 80), [1, 1]))
        self.assertLess(np.abs(np.asarray(large) - np.asarray(dense)).mean(), 0.05)

    def test_numbers_for_itk(self):
        """Example13"""
        result, found = itk.elastix_registration_method(self.fixed, self.moving, maps("rigid", "affine"))
        whole = itk.CompositeTransform[itk.D, 2].New()
        kinds = itk.Euler2DTransform[itk.D], itk.AffineTransform[itk.D, 2]
        for one, kind in reversed(list(zip(found.GetParameterMaps(), kinds))):
            transform = kind.New()
            transform.SetFixedParameters(itk_numbers(one["CenterOfRotationPoint"]))
            transform.SetParameters(itk_numbers(one["TransformParameters"]))
            whole.AddTransform(transform)
        again = itk.transformix_filter(self.moving, found.GetParameterMap(1), transform=whole)
        np.testing.assert_allclose(again, result, atol=0.01)

    def test_transforms_of_itk(self):
        """Example15, 16"""
        moving = itk.Image[itk.F, 2].New()
        moving.SetRegions([5, 6])
        moving.Allocate(True)
        moving[:] = np.arange(1, 31).reshape(6, 5)
        expected = np.zeros((6, 5))
        expected[2:, :4] = np.arange(1, 31).reshape(6, 5)[:4, 1:]
        for setting in "SetTransform", "SetExternalTransform", "SetCombinationTransform":
            method = itk.TransformixFilter[itk.Image[itk.F, 2]].New()
            method.SetMovingImage(moving)
            method.SetTransformParameterObject(itk.ParameterObject.New(parameter_map=grid_map(5, 6)))
            getattr(method, setting)(translation(1, -2))
            method.Update()
            np.testing.assert_allclose(method.GetOutput(), expected, atol=1e-5)
        mesh = itk.Mesh[itk.F, 2].New()
        for place, point in enumerate(([0.0, 0.0], [0.0, 1.0], [1.0, 0.0])):
            mesh.SetPoint(place, point)
        method.SetInputMesh(mesh)
        method.Update()
        moved = method.GetOutputMesh()
        self.assertEqual([tuple(moved.GetPoint(place)) for place in range(3)], [(1, -2), (1, -1), (2, -2)])

    def test_transforms_for_itk(self):
        """Example22"""
        kinds = itk.Euler2DTransform[itk.D], itk.AffineTransform[itk.D, 2], itk.BSplineTransform[itk.D, 2, 3]
        method = itk.ElastixRegistrationMethod[type(self.fixed), type(self.moving)].New(
            fixed_image=self.fixed, moving_image=self.moving, parameter_object=maps("rigid", "affine", "bspline")
        )
        method.Update()
        whole = method.ConvertToItkTransform(method.GetCombinationTransform())
        whole = itk.CompositeTransform[itk.D, 2].cast(whole)
        self.assertEqual(method.GetNumberOfTransforms(), 3)
        for index, kind in enumerate(reversed(kinds)):
            kind.cast(whole.GetNthTransform(index))
            self.assertEqual(
                method.GetNthTransform(index).GetNameOfClass(), whole.GetNthTransform(index).GetNameOfClass()
            )
        maps_found = method.GetTransformParameterObject().GetParameterMaps()
        expected = tessera.Transform.from_maps(maps_found).apply_points([[10, 12]])[0]
        np.testing.assert_allclose(list(whole.TransformPoint([10.0, 12.0])), expected, atol=1e-9)


if __name__ == "__main__":
    main()
