"""What register() takes, tells and refuses."""

import logging
import pickle
import tempfile
import threading
import time
import unittest

import numpy as np
import tessera
from support import ENDLESS, QUICK, InAFolder, blobs, main, write_mha

FIXED, MOVING = blobs((40, 44)), blobs((40, 44), 2)


class Results(unittest.TestCase):
    def test_a_shift_is_found_and_told(self):
        found = tessera.register(FIXED, MOVING, QUICK)
        np.testing.assert_allclose(found.transform.apply_points([[20, 20]]), [[22, 21]], atol=0.3)
        self.assertIsInstance(found.image, np.ndarray)
        self.assertEqual((found.image.dtype, found.image.shape), (np.int16, (40, 44)))
        self.assertGreater(found.quality.correlation, 0.99)
        self.assertEqual([level.stage for level in found.levels], [0])
        self.assertEqual(found.levels[0].values.shape, (found.levels[0].iterations,))
        self.assertEqual(found.record["status"], "done")
        self.assertEqual(found.record["inputs"]["fixed"][0]["path"], "array[int16 44x40]")
        self.assertIsNone(found.record["key"])
        self.assertIn("<", found._repr_html_())

    def test_inputs_are_not_changed_and_not_kept(self):
        import weakref

        class Watched(np.ndarray):
            pass

        fixed, moving = (image.copy().view(Watched) for image in (FIXED, MOVING))
        alive = weakref.ref(fixed), weakref.ref(moving)
        found = tessera.register(fixed, moving, QUICK)
        np.testing.assert_array_equal(fixed, FIXED)
        np.testing.assert_array_equal(moving, MOVING)
        del fixed, moving
        self.assertEqual([one() for one in alive], [None, None])
        self.assertIsInstance(found.image, np.ndarray)

    def test_every_layout_of_memory_gives_the_same_bits(self):
        expected = tessera.register(FIXED, MOVING, QUICK).image
        padded = np.zeros((40, 2, 44), np.int16)
        padded[:, 0] = MOVING
        unaligned = np.zeros((40, 44), np.dtype([("a", "u1"), ("v", "<i2")]))
        unaligned["v"] = MOVING
        read_only = MOVING.copy()
        read_only.flags.writeable = False
        for moving in (
            np.asfortranarray(MOVING),
            MOVING[::-1, ::-1].copy()[::-1, ::-1],
            padded[:, 0],
            unaligned["v"],
            MOVING.astype(">i2"),
            read_only,
        ):
            np.testing.assert_array_equal(tessera.register(FIXED, moving, QUICK).image, expected)

    def test_every_type_of_voxels(self):
        for kind in "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 bool".split():
            moving = (MOVING > 0).astype(kind) if kind == "bool" else np.clip(MOVING, 0, 100).astype(kind)
            image = tessera.register(FIXED, moving, QUICK).image
            expected = {"float64": "float32", "float16": "float32", "bool": "uint8"}.get(kind, kind)
            self.assertEqual(str(image.dtype), expected)

    def test_whole_numbers_that_float_rounds_are_told(self):
        with self.assertLogs("tessera", logging.INFO) as logs:
            tessera.register(FIXED.astype(float), MOVING.astype(np.int32) + 2**24, QUICK)
        self.assertTrue(any("NOTE: array[int32 44x40]" in row and "rounded" in row for row in logs.output), logs.output)

    def test_what_is_not_asked_for_is_not_made(self):
        fixed, moving = blobs((20, 24)), blobs((20, 24), 1)
        all_of_it = tessera.register(fixed, moving, ["Rigid", QUICK])
        quick = tessera.register(fixed, moving, ["Rigid", QUICK], resample=False, quality=False)
        self.assertEqual(quick.transform, all_of_it.transform)
        self.assertIsNone(quick.image)
        self.assertIsNone(quick.quality)
        self.assertIsNotNone(tessera.register(fixed, moving, QUICK, resample=False).quality)
        np.testing.assert_array_equal(quick.transform.apply(moving), all_of_it.image)
        placed = tessera.register(fixed, moving, ["Rigid", QUICK], like=tessera.Image(moving)).image
        self.assertIsInstance(placed, tessera.Image)
        np.testing.assert_array_equal(placed.array, all_of_it.image)
        for wrong in {"like": "numpy"}, {"like": 3}, {"quality": False, "report": True}:
            with self.assertRaisesRegex(tessera.UsageError, "Allowed"):
                tessera.register(fixed, moving, QUICK, **wrong)

    def test_labels_points_and_masks(self):
        found = tessera.register(
            FIXED,
            MOVING,
            QUICK,
            fixed_labels=(FIXED > 50).astype(np.uint8) * 3,
            moving_labels=(MOVING > 50).astype(np.int64) * 3,
            fixed_points=[[20, 20], [30, 10]],
            moving_points=np.array([[22, 21], [32, 11]], np.float32),
            fixed_mask=FIXED > -200,
            moving_mask=tessera.Image(np.ones((10, 11), bool), (4, 4)),
        )
        self.assertEqual(list(found.quality.dice), [3])
        self.assertGreater(found.quality.mean_dice, 0.9)
        self.assertLess(found.quality.mean_dice_before, found.quality.mean_dice)
        self.assertEqual(found.record["quality"]["points"]["count"], 2)

    def test_weights_of_points(self):
        stage = {
            **QUICK,
            "Registration": "MultiMetricMultiResolutionRegistration",
            "Metric": ["AdvancedMeanSquares", "CorrespondingPointsEuclideanDistanceMetric"],
            "Metric1Weight": 1e6,
        }

        def shift(weights):
            points = {"fixed_points": [[20, 20], [30, 10]], "moving_points": [[22, 20], [35, 10]]}
            return tessera.register(FIXED, MOVING, stage, point_weights=weights, **points).transform.matrix[:2, 2]

        with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
            print("1\n9", file=file, flush=True)
            np.testing.assert_array_equal(shift([1, 9]), shift(file.name))
        self.assertLess(np.abs(shift([1, 1e6]) - [5, 0]).max(), 0.5)
        self.assertLess(np.abs(shift(np.eye(2) * [[[1e-6]], [[1]]]) - [2, 0]).max(), 0.5)

    def test_curves_are_drawn(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("matplotlib is not installed")
        found = tessera.register(FIXED, MOVING, {**QUICK, "NumberOfResolutions": 2})
        curves = found.plot().axes[0].lines
        self.assertEqual([len(curve.get_ydata()) for curve in curves], [level.iterations for level in found.levels])

    def test_several_images(self):
        several = {
            **QUICK,
            "Registration": "MultiMetricMultiResolutionRegistration",
            "Metric": ["AdvancedMeanSquares"] * 2,
        }
        for name in "ImageSampler", "Interpolator", "FixedImagePyramid", "MovingImagePyramid":
            several.pop(name, None)
        several["ImageSampler"] = ["Full", "Full"]
        found = tessera.register([FIXED, FIXED], [MOVING, MOVING], several)
        self.assertEqual(len(found.record["inputs"]["moving"]), 2)

    def test_threads_take_turns_with_the_same_bits(self):
        expected = tessera.register(FIXED, MOVING, QUICK, threads=1).image
        results = [None] * 4

        def run(number):
            results[number] = tessera.register(FIXED, MOVING, QUICK, threads=number % 2 + 1).image

        threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            np.testing.assert_array_equal(result, expected)


class Errors(InAFolder):
    def refused(self, kind, *parts, fixed=FIXED, moving=MOVING, parameters=QUICK, **more):
        with self.assertRaises(kind) as caught:
            tessera.register(fixed, moving, parameters, **more)
        self.assertIsInstance(caught.exception, tessera.Error)
        message = str(caught.exception)
        for part in parts:
            self.assertIn(part, message)
        self.assertRegex(message, "Allowed|Remedy|Did you mean")
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(again), str(again), again.code), (kind, message, kind.code))
        return caught.exception

    def test_each_says_where_and_what_is_allowed(self):
        usage, unread = tessera.UsageError, tessera.InputError
        self.refused(usage, 'parameters[0]: (Metric "X")', parameters={**QUICK, "Metric": "X"})
        self.refused(usage, "parameters[1]:1: ", parameters=[QUICK, '(Metric "AdvancedMeanSquares"'])
        self.refused(usage, '"MRRigit"', "MRRigid", parameters="MRRigit")
        self.refused(usage, "nosuch.txt", parameters="nosuch.txt")
        self.refused(usage, "parameters: an empty list", parameters=[])
        self.refused(usage, "(Metric)", parameters={"Metric": {}})
        self.refused(usage, "parameters[0]", parameters=[3])
        self.refused(usage, "object of type builtins.list", fixed=[[1, 2]])
        self.refused(usage, "complex", fixed=FIXED.astype(complex))
        self.refused(usage, "1 axes", fixed=FIXED[0])
        self.refused(usage, "5 axes", moving=FIXED.reshape(1, 1, 40, 44, 1))
        self.refused(usage, "dimension", moving=MOVING.reshape(1, 40, 44).repeat(3, 0))
        self.refused(usage, "threads: 0", threads=0)
        pairs = {"fixed_points": [[20, 20], [30, 10]], "moving_points": [[21, 20], [31, 10]]}
        self.refused(unread, "point_weights: array", "3 numbers", point_weights=[1, 2, 3], **pairs)
        self.refused(unread, "not above 0", point_weights=[1, 0], **pairs)
        self.refused(usage, "point_weights without pairs", point_weights=[1, 2])
        self.refused(usage, "threads: 2.0", threads=2.0)
        for size in 0, "2", "2 apples", float("nan"):
            self.refused(usage, "max_device_memory: ", "no size of memory", max_device_memory=size)
        self.refused(usage, '"gpu7"', device="gpu7")
        self.refused(
            usage, "MaximumNumberOfIteration", parameters={**QUICK, "MaximumNumberOfIteration": 3}, strict=True
        )
        self.refused(usage, "moving_points without fixed_points", moving_points=[[1, 2]])
        self.refused(usage, "fixed_points: an array of shape", fixed_points=[1, 2])
        self.refused(
            unread,
            "fixed_points and moving_points: 1 fixed and 2 moving",
            fixed_points=[[1, 2]],
            moving_points=[[1, 2], [3, 4]],
        )
        self.refused(unread, "moving: array[int16 0x40]", moving=MOVING[:, :0])
        self.refused(unread, "fixed: nosuch.nii", fixed="nosuch.nii")
        self.refused(unread, "moving_mask", moving_mask=np.zeros((40, 44), bool))
        self.refused(unread, "spacing", fixed=tessera.Image(FIXED, (0, 1)))
        extreme = {**QUICK, "Transform": "AffineTransform", "Optimizer": "AdaptiveStochasticGradientDescent"}
        self.refused(tessera.RegistrationFailed, "Scales", parameters={**extreme, "Scales": 1e-300})
        huge = {"Transform": "BSplineTransform", "FinalGridSpacingInVoxels": 4, "GridSpacingSchedule": 1e300}
        large = tessera.Image(FIXED, direction=1e20 * np.eye(2))
        self.refused(usage, "larger than numbers", fixed=large, parameters={**QUICK, **huge})
        self.refused(unread, "direction", fixed=tessera.Image(FIXED, direction=[[1, 1], [1, 1]]))
        self.refused(unread, "fixed: array[float64 20x20]: none of its 400 voxels", fixed=np.full((20, 20), np.nan))
        self.refused(unread, "above 2^24", fixed_labels=FIXED * 0 + np.int32(2**24 + 1), moving_labels=MOVING)
        self.refused(unread, "nosuch.txt", initial="nosuch.txt")
        self.refused(usage, "matrix: of shape (5, 5)", initial=np.eye(5))
        self.refused(tessera.DeviceError, "cuda", device="cuda") if not has_gpu() else None

    def test_they_are_what_python_expects(self):
        for kind, base in (
            (tessera.UsageError, ValueError),
            (tessera.InputError, ValueError),
            (tessera.OutputError, OSError),
            (tessera.OutOfMemory, MemoryError),
            (tessera.RegistrationFailed, RuntimeError),
        ):
            self.assertTrue(issubclass(kind, base) and issubclass(kind, tessera.Error))
        found = tessera.register(FIXED, MOVING, QUICK)
        self.folder.joinpath("file").write_text("")
        with self.assertRaises(OSError) as caught:
            found.save("file/below")
        self.assertEqual((type(caught.exception), caught.exception.code), (tessera.OutputError, 4))

    def test_samples_outside_end_a_registration(self):
        far = tessera.Image(MOVING, origin=(1e4, 0))
        self.assertEqual(
            self.refused(
                tessera.RegistrationFailed, moving=far, parameters={**QUICK, "AutomaticTransformInitialization": False}
            ).code,
            1,
        )


class Files(InAFolder):
    def test_paths_may_stand_for_arrays(self):
        write_mha("f.mha", tessera.Image(FIXED))
        write_mha("m.mha", tessera.Image(MOVING))
        of_arrays = tessera.register(FIXED, MOVING, QUICK)
        of_files = tessera.register("f.mha", self.folder / "m.mha", QUICK)
        self.assertIsInstance(of_files.image, tessera.Image)
        np.testing.assert_array_equal(of_files.image.array, of_arrays.image)


class ParametersOfFiles(InAFolder):
    def test_messages_name_the_line_of_what_was_not_changed(self):
        self.folder.joinpath("my.txt").write_text(
            '// Mine\n(Transform "TranslationTransform")\n(Metric "NoSuch")\n(MaximumNumberOfIterations 0.5)\n'
            '(Optimizer "RegularStepGradientDescent")\n(ImageSampler "Full")\n'
        )
        mine = tessera.Parameters.load("my.txt")
        self.assertEqual(dict(mine)["Metric"], ("NoSuch",))
        for copy in mine, tessera.Parameters(mine), pickle.loads(pickle.dumps(mine)):
            with self.assertRaisesRegex(tessera.UsageError, r'^my.txt:3: \(Metric "NoSuch"\)'):
                tessera.check(FIXED, MOVING, copy)
        mine["Metric"] = "AdvancedMeanSquares"
        with self.assertRaisesRegex(tessera.UsageError, r"^my.txt \(changed\):4: \(MaximumNumberOfIterations 0.5\)"):
            tessera.check(FIXED, MOVING, mine)
        mine["MaximumNumberOfIterations"] = -3
        with self.assertRaisesRegex(tessera.UsageError, r"^my.txt \(changed\): \(MaximumNumberOfIterations -3\)"):
            tessera.check(FIXED, MOVING, mine)
        del mine["MaximumNumberOfIterations"]
        tessera.check(FIXED, MOVING, mine)
        with self.assertRaises(tessera.UsageError):
            tessera.Parameters.load("nosuch.txt")

    def test_a_file_gives_the_bits_of_its_name(self):
        found = [
            tessera.register(FIXED, MOVING, one)
            for one in ("Translation", tessera.Parameters.load(tessera.parameter_files()["Translation"]))
        ]
        self.assertEqual(found[0].transform, found[1].transform)
        np.testing.assert_array_equal(found[0].image, found[1].image)


class Listening(unittest.TestCase):
    def test_progress_comes_in_this_thread_and_its_exception_ends_the_run(self):
        seen = []

        def listen(progress):
            seen.append((threading.get_ident(), progress.iterations, progress.seconds, progress.iteration))
            if progress.iteration > 3:
                raise KeyError("enough")

        with self.assertRaises(KeyError):
            tessera.register(FIXED, MOVING, {**ENDLESS, "MaximumNumberOfIterations": 900000}, progress=listen)
        self.assertEqual({row[:2] for row in seen}, {(threading.get_ident(), 900000)})
        seconds = [row[2] for row in seen]
        self.assertEqual((seconds, seconds[0] >= 0, seconds[-1] < 60), (sorted(seconds), True, True))

    def test_progress_tells_the_iterations_of_each_level(self):
        levels = {**ENDLESS, "NumberOfResolutions": 2, "MaximumNumberOfIterations": [3, 800000]}
        most, stop = {}, tessera.Cancel()

        def listen(progress):
            most[progress.level] = progress.iterations
            stop.is_cancelled = progress.level == 1

        with self.assertRaises(tessera.Cancelled):
            tessera.register(FIXED, MOVING, levels, progress=listen, cancel=stop)
        self.assertEqual(most[1], 800000)

    def test_cancel_ends_it_and_keeps_what_was_finished(self):
        stop = tessera.Cancel()
        timer = threading.Timer(0.3, stop.cancel)
        timer.start()
        with self.assertRaises(tessera.Cancelled) as caught:
            tessera.register(FIXED, MOVING, [QUICK, ENDLESS], cancel=stop)
        alone = tessera.register(FIXED, MOVING, QUICK)
        point = [[3.0, 4.0]]
        partial = caught.exception.partial
        np.testing.assert_array_equal(partial.transform.apply_points(point), alone.transform.apply_points(point))
        self.assertEqual(partial.record["status"], "interrupted")

    def test_the_last_finished_level_is_kept_as_it_was(self):
        levels = {
            **ENDLESS,
            "Transform": "BSplineTransform",
            "FinalGridSpacingInVoxels": 8,
            "NumberOfResolutions": 2,
            "MaximumNumberOfIterations": [10, 1000000],
        }
        stop = tessera.Cancel()
        with self.assertRaises(tessera.Cancelled) as caught:
            tessera.register(
                FIXED, MOVING, levels, cancel=stop, progress=lambda p: stop.cancel() if p.level == 1 else None
            )
        text = caught.exception.partial.transform.maps[-1]
        alone = tessera.register(
            FIXED,
            MOVING,
            {**levels, "WriteTransformParametersEachResolution": True, "MaximumNumberOfIterations": [10, 1]},
        )
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            alone.save(folder)
            of_file = tessera.Transform.load(f"{folder}/TransformParameters.0.R0.txt")
        self.assertEqual(text["TransformParameters"], of_file.maps[-1]["TransformParameters"])

    def test_the_log_goes_to_logging(self):
        with self.assertLogs("tessera", logging.DEBUG) as logs:
            found = tessera.register(FIXED, MOVING, {**QUICK, "NoSuchParameter": 3})
        levels = {record.levelno for record in logs.records}
        self.assertEqual(levels, {logging.DEBUG, logging.INFO, logging.WARNING})
        told = [record.getMessage() for record in logs.records if record.levelno == logging.WARNING]
        self.assertTrue(any("NoSuchParameter" in line for line in told))
        self.assertEqual(len(found.warnings), len(told))

    def test_other_threads_of_python_go_on(self):
        ticks = 0
        over = threading.Event()

        def tick():
            nonlocal ticks
            while not over.is_set():
                ticks += 1
                time.sleep(0.001)

        other = threading.Thread(target=tick)
        stop = tessera.Cancel()
        threading.Timer(0.5, stop.cancel).start()
        other.start()
        with self.assertRaises(tessera.Cancelled):
            tessera.register(FIXED, MOVING, ENDLESS, cancel=stop, threads=1)
        over.set()
        other.join()
        self.assertGreater(ticks, 20)


def has_gpu():
    try:
        tessera.register(FIXED, MOVING, QUICK, device="cuda")
    except tessera.Error:
        return False
    return True


if __name__ == "__main__":
    main()
