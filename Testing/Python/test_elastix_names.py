"""tessera.elastix has every name of ITKElastix, with its meaning; and what it does not have, it says."""

import inspect
import os
import pickle
import unittest
from pathlib import Path

import numpy as np
import tessera
import tessera.elastix as elx
from support import InAFolder, blobs, main

FIXED, MOVING = (blobs((30, 36), shift).astype(np.float32) for shift in (0, 1))
MAP = {"Transform": "EulerTransform", "Scales": [1, 0.5, 2], "WriteResultImage": True}
SHIFT = {"Transform": "TranslationTransform", "TransformParameters": [1, -2], "Size": [36, 30]}
POINTS = "point\n2\n10 12\n20.5 8\n"


def quick(*names):
    """Default maps of a few iterations."""
    made = elx.ParameterObject([elx.ParameterObject.GetDefaultParameterMap(name, 2) for name in names])
    made.SetParameter("MaximumNumberOfIterations", 8)
    return made


class ParameterObjects(InAFolder):
    def test_maps(self):
        made = elx.ParameterObject.New()
        made.AddParameterMap(MAP)
        made.AddParameterMap(elx.ParameterObject.New(parameter_map=MAP).GetParameterMap(0))
        self.assertEqual(made.GetNumberOfParameterMaps(), 2)
        self.assertEqual(made.GetParameterMaps(), [made.GetParameterMap(0), made.GetParameterMap(1)])
        self.assertEqual(made.GetParameter(1, "Scales"), ("1", "0.5", "2"))
        made.SetParameter("Metric", "AdvancedMeanSquares")
        made.SetParameter(1, "Metric", ["A", "B"])
        self.assertEqual(made.GetParameter(0, "Metric"), ("AdvancedMeanSquares",))
        self.assertEqual(made.GetParameter(1, "Metric"), ("A", "B"))
        made.RemoveParameter(0, "Metric")
        self.assertEqual((made.HasParameter(0, "Metric"), made.HasParameter(1, "Metric")), (False, True))
        made.RemoveParameter("Metric")
        self.assertFalse(made.HasParameter(1, "Metric"))
        copy = made.GetParameterMap(0)
        copy["Scales"] = "3"
        self.assertEqual(
            dict(copy), {"Transform": ("EulerTransform",), "Scales": ("3",), "WriteResultImage": ("true",)}
        )
        self.assertEqual(made.GetParameter(0, "Scales"), ("1", "0.5", "2"))
        self.assertEqual(pickle.loads(pickle.dumps(made)).GetParameterMaps(), made.GetParameterMaps())
        for maps in copy, [copy]:
            made.SetParameterMap(maps)
            self.assertEqual(made.GetParameterMaps(), [copy])
        made.SetParameterMaps([MAP, copy])
        made.SetParameterMap(0, copy)
        self.assertEqual(made.GetParameterMaps(), [copy, copy])
        with self.assertRaisesRegex(tessera.UsageError, "index: 2 of 2 maps"):
            made.SetParameterMap(2, copy)
        self.assertEqual(
            str(made).splitlines()[1:5],
            ["ParameterMap 0: ", "  (Scales 3)", '  (Transform "EulerTransform")', '  (WriteResultImage "true")'],
        )

    def test_files(self):
        for path in "map.txt", "map.toml":
            elx.ParameterObject.WriteParameterFile({**MAP, "Path": "a b", "Odd": ["007", "-0.5"]}, path)
            read = elx.ParameterObject.New()
            read.ReadParameterFile(path)
            read.AddParameterFile(path)
            expected = {**elx.convert_to_parameter_map(MAP), "Path": ("a b",), "Odd": ("007", "-0.5")}
            self.assertEqual([dict(one) for one in read.GetParameterMaps()], [expected] * 2, Path(path).read_text())
        read.WriteParameterFiles(["0.txt", "1.txt"])
        again = elx.ParameterObject.New()
        for way in again.ReadParameterFiles, again.ReadParameterFile:
            way(["0.txt", "1.txt"])
            self.assertEqual(again.GetParameterMaps(), read.GetParameterMaps())
        with self.assertRaisesRegex(tessera.UsageError, "one a map"):
            read.WriteParameterFiles(["0.txt"])
        with self.assertRaisesRegex(tessera.UsageError, "quotes"):
            read.WriteParameterFile({"Path": 'a"b'}, "bad.txt")

    def test_conversions(self):
        self.assertEqual(elx.convert_to_parameter_value(False), "false")
        self.assertEqual(elx.convert_to_parameter_value(1.5), "1.5")
        self.assertEqual(elx.convert_to_parameter_map({"A": [1, True]}), {"A": ("1", "true")})
        made = elx.dict_to_parameter_object([MAP, MAP])
        self.assertEqual(made.GetNumberOfParameterMaps(), 2)
        self.assertIs(elx.dict_to_parameter_object(made), made)

    def test_default_maps(self):
        default = elx.ParameterObject.New().GetDefaultParameterMap
        for name, entries in {
            "translation": 24,
            "rigid": 24,
            "affine": 24,
            "bspline": 27,
            "spline": 23,
            "groupwise": 25,
        }.items():
            self.assertEqual(len(default(name)), entries, name)
        self.assertEqual(default("rigid", 3)["NumberOfResolutions"], ("3",))
        self.assertEqual(default("bspline", 3, 20.0)["FinalGridSpacingInPhysicalUnits"], ("20.000000",))
        self.assertEqual(default("bspline", 3)["GridSpacingSchedule"], ("2", "1.4142135623730951", "1"))
        self.assertEqual(default("groupwise", 2, 16.0)["FinalGridSpacingInPhysicalUnits"], ("16.000000",))
        with self.assertRaisesRegex(tessera.UsageError, "Allowed: translation"):
            default("nosuch")

    def test_what_is_not_there_is_said(self):
        for call, text in (
            (lambda: elx.ParameterObject.New().GetParameterMap(0), "index: 0 of 0 maps"),
            (lambda: elx.ParameterObject.New(MAP).GetParameter(0, "Metric"), "HasParameter"),
            (lambda: elx.ParameterObject.New({"A": {}}), "of type dict"),
            (lambda: elx.elastix_registration_method(FIXED, MOVING, elx.ParameterObject.New()), "empty list"),
            (lambda: elx.elastix_registration_method(FIXED, MOVING, log_to_file=True), "output_directory"),
            (lambda: elx.elastix_registration_method(FIXED, MOVING, log_level="loud"), "Allowed: info"),
            (lambda: elx.elastix_registration_method(parameter_object=MAP), "fixed: not given"),
            (lambda: elx.transformix_filter(MOVING), "transform_parameter_object: not given"),
            (lambda: elx.transformix_filter(MOVING, MAP, transform_parameter_file_name="a.txt"), "one of these"),
            (lambda: elx.transformix_filter(FIXED, {**SHIFT, "Size": []}), "no value"),
            (lambda: elx.transformix_pointset(FIXED, SHIFT), "fixed_point_set_file_name: not given"),
            (lambda: elx.TransformixFilter(MOVING, MAP, 3), "3 arguments without names"),
            (lambda: elx.ElastixRegistrationMethod(FIXED).GetCombinationTransform(), "after Update"),
        ):
            with self.subTest(text), self.assertRaisesRegex(tessera.Error, text):
                call()
        with self.assertRaisesRegex(AttributeError, "SetNosuch.*SetFixedImage"):
            elx.ElastixRegistrationMethod.New(FIXED, nosuch=3)


class Filters(InAFolder):
    def test_each_setting_has_its_methods(self):
        for kind in elx.ElastixRegistrationMethod, elx.TransformixFilter:
            one = kind["image", "image"].New()
            for name in set(kind._inputs + kind._several + kind._settings):
                getattr(one, f"Set{name}")(5)
                self.assertEqual(getattr(one, f"Get{name}")(), 5, name)
                self.assertIn(f"Set{name}", dir(one))
                if name in kind._several:
                    getattr(one, f"Add{name}")(6)
                    self.assertEqual((getattr(one, f"GetNumberOf{name}s")(), getattr(one, f"Get{name}")(1)), (2, 6))
                getattr(one, f"{name}On")()
                self.assertIs(getattr(one, f"Get{name}")(), True)
                getattr(one, f"{name}Off")()
                self.assertIs(getattr(one, f"Get{name}")(), False)
                getattr(one, f"Remove{name}")()
                self.assertIsNone(getattr(one, f"Get{name}")(), name)

    def test_the_input_is_the_first_one(self):
        for kind, name in (elx.ElastixRegistrationMethod, "FixedImage"), (elx.TransformixFilter, "MovingImage"):
            one = kind.New()
            one.SetInput(FIXED)
            self.assertIs(one.GetInput(), FIXED)
            self.assertIs(getattr(one, f"Get{name}")(), FIXED)

    def test_names_of_the_settings(self):
        of_both = "OutputDirectory LogFileName LogToConsole LogToFile LogLevel FixedPointSetFileName MovingImage"
        for kind, names in (
            (
                elx.ElastixRegistrationMethod,
                "FixedImage FixedMask MovingMask ParameterObject FixedPoints MovingPoints MovingPointSetFileName "
                "InitialTransformParameterFileName InitialTransformParameterObject InitialTransform "
                "ExternalInitialTransform NumberOfThreads",
            ),
            (
                elx.TransformixFilter,
                "TransformParameterObject TransformParameterFileName Transform ExternalTransform CombinationTransform "
                "InputMesh ComputeSpatialJacobian ComputeDeterminantOfSpatialJacobian ComputeDeformationField",
            ),
        ):
            self.assertEqual(set(kind._inputs + kind._several + kind._settings), {*of_both.split(), *names.split()})

    def test_a_registration_is_that_of_the_module(self):
        maps = quick("translation", "bspline")
        image, found = elx.elastix_registration_method(FIXED, MOVING, maps, number_of_threads=2)
        ours = tessera.register(FIXED, MOVING, maps.GetParameterMaps())
        np.testing.assert_array_equal(image, ours.image)
        self.assertEqual([dict(one) for one in found.GetParameterMaps()], [dict(one) for one in ours.transform.maps])
        np.testing.assert_array_equal(elx.transformix_filter(MOVING, found), image)
        for way in {"parameter_object": maps.GetParameterMap(0)}, {"parameter_object": [maps.GetParameterMap(0)]}:
            _, by_dict = elx.elastix_registration_method(FIXED, MOVING, **way)
            self.assertEqual(by_dict.GetParameterMap(0), found.GetParameterMap(0))
        stages = [one["Transform"] for one in elx.elastix_registration_method(FIXED, MOVING)[1].GetParameterMaps()]
        self.assertEqual(stages, [("TranslationTransform",), ("AffineTransform",), ("BSplineTransform",)])

    def test_masks_points_and_starts(self):
        Path("f.txt").write_text(POINTS)
        Path("m.txt").write_text(POINTS.replace("10 12", "12 12"))
        maps = quick("translation")
        maps.SetParameter("Registration", "MultiMetricMultiResolutionRegistration")
        maps.SetParameter("Metric", ["AdvancedMeanSquares", "CorrespondingPointsEuclideanDistanceMetric"])
        mask = (FIXED > -400).astype(np.uint8)
        arguments = {"fixed_mask": mask, "moving_mask": mask}
        by_file = {"fixed_point_set_file_name": "f.txt", "moving_point_set_file_name": "m.txt"}
        in_memory = {"fixed_points": [[10, 12], [20.5, 8]], "moving_points": np.array([[12, 12], [20.5, 8]])}
        results = [
            elx.elastix_registration_method(FIXED, MOVING, maps, **arguments, **points)[1].GetParameterMap(0)
            for points in (by_file, in_memory)
        ]
        self.assertEqual(*results)
        start = elx.ParameterObject(results[0])
        elx.ParameterObject.WriteParameterFile(results[0], "start.txt")
        _, after_object = elx.elastix_registration_method(
            FIXED, MOVING, quick("affine"), initial_transform_parameter_object=start
        )
        _, after_file = elx.elastix_registration_method(
            FIXED, MOVING, quick("affine"), initial_transform_parameter_file_name="start.txt"
        )
        self.assertEqual(after_object.GetParameterMap(0)["TransformParameters"], results[0]["TransformParameters"])
        self.assertEqual(after_file.GetNumberOfParameterMaps(), 1)
        self.assertEqual(after_file.GetParameter(0, "InitialTransformParameterFileName"), ("start.txt",))
        np.testing.assert_array_equal(
            elx.transformix_filter(MOVING, after_object), elx.transformix_filter(MOVING, after_file)
        )
        with self.assertRaisesRegex(tessera.UsageError, "Allowed: one of these"):
            elx.elastix_registration_method(
                FIXED,
                MOVING,
                initial_transform_parameter_object=start,
                initial_transform_parameter_file_name="start.txt",
            )

    def test_points(self):
        Path("points.txt").write_text(POINTS)
        _, found = elx.elastix_registration_method(FIXED, MOVING, quick("affine"))
        expected = tessera.Transform.from_maps(found.GetParameterMaps()).apply_points([[10, 12], [20.5, 8]])
        rows = elx.transformix_pointset(MOVING, found, fixed_point_set_file_name="points.txt")
        self.assertEqual(rows.shape, (2, 44))
        self.assertEqual(rows[1][:2].tolist() + rows[1][37:39].tolist(), ["Point", "1", ";", "OutputIndexMoving"])
        few = elx.transformix_pointset(MOVING, found, fixed_point_set_file_name="points.txt", reduce_output=True)
        np.testing.assert_allclose(few, expected, atol=1e-12)

    def test_output_can_be_disabled(self):
        method = elx.ElastixRegistrationMethod(FIXED, MOVING, quick("rigid"), output_directory="out", log_to_file=True)
        method.DisableOutput()
        method.Update()
        self.assertEqual(sorted(os.listdir("out")), ["TransformParameters.0.txt", "result.0.nii"])

    def test_files_are_written_where_that_is_asked_for(self):
        image, found = elx.elastix_registration_method(
            FIXED, MOVING, quick("rigid"), output_directory="out", log_to_file=True, log_file_name="my.log"
        )
        self.assertEqual(sorted(os.listdir("out")), ["TransformParameters.0.txt", "my.log", "result.0.nii"])
        self.assertIn("Level 1", Path("out/my.log").read_text())
        np.testing.assert_array_equal(tessera.read("out/result.0.nii").array, image)
        Path("points.txt").write_text(POINTS)
        elx.transformix_filter(
            MOVING,
            transform_parameter_file_name="out/TransformParameters.0.txt",
            fixed_point_set_file_name="points.txt",
            output_directory="of",
        )
        self.assertEqual(sorted(os.listdir("of")), ["outputpoints.txt", "result.nii"])
        np.testing.assert_array_equal(tessera.read("of/result.nii").array, image)

    def test_every_public_name_has_a_docstring(self):
        for name in elx.__all__:
            self.assertTrue(inspect.getdoc(getattr(elx, name)), name)


if __name__ == "__main__":
    main()
