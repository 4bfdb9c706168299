"""Follower and register_series find what tessera-follow finds, to the bit, and keep the manners of register()."""

import json
import threading
import time
import unittest

import numpy as np
import tessera
from support import ENDLESS, QUICK, InAFolder, blobs, main, program, write_mha

SPLINE = {**QUICK, "Transform": "BSplineTransform", "NumberOfResolutions": 2, "FinalGridSpacingInVoxels": 6}


def _volume(shift):
    return tessera.Image(blobs((20, 24, 28), shift), spacing=(1.5, 1, 2), origin=(-10, 3, 7))


class Following(InAFolder):
    def test_updates_are_those_of_the_program(self):
        text = tessera._parameters.text_of(tessera._parameters.entries_of(SPLINE, "spline"))
        self.folder.joinpath("spline.txt").write_text(text)
        fixed, images = _volume(0), [_volume(shift) for shift in (0.5, 1, 1.5)]
        for number, image in enumerate([fixed, *images]):
            write_mha(f"{number}.mha", image)
        words = "-f 0.mha -p Rigid -p spline.txt --names - --every --write all --warped -threads 2 -out out"
        told = program("tessera-follow", *words.split(), input="1.mha\n2.mha\n3.mha\n")
        follower = tessera.Follower(fixed, ["Rigid", SPLINE], resample=True, threads=1)
        for number, (image, line) in enumerate(zip(images, map(json.loads, told.splitlines()))):
            update = follower.update(image)
            self.assertEqual("cold" if update.is_cold else "warm", line["start"])
            self.assertEqual(
                (list(update.first_levels), update.metric, update.correlation, update.why),
                (line["firstLevels"], line["metric"], line["correlation"], line["why"]),
            )
            folder = self.folder / "out" / f"{number:06}"
            theirs = tessera.Transform.load(folder / "TransformParameters.1.txt")
            self.assertEqual(
                [one["TransformParameters"] for one in update.transform.maps],
                [one["TransformParameters"] for one in theirs.maps],
            )
            np.testing.assert_array_equal(update.image.array, tessera.read(folder / "result.1.mhd").array)
        self.assertFalse(update.is_cold)

        again = tessera.Follower(fixed, ["Rigid", SPLINE], start_at="out/000001/TransformParameters.1.txt").update(
            images[2]
        )
        self.assertEqual((again.is_cold, again.first_levels), (False, update.first_levels))
        self.assertIsNone(again.image)
        last, follower.last = follower.last, None
        self.assertTrue(follower.update(images[2]).is_cold)
        follower.last = last
        self.assertFalse(follower.update(images[2]).is_cold)
        with self.assertRaisesRegex(tessera.UsageError, "dimension"):
            follower.last = tessera.Transform.from_matrix(np.eye(3))
        self.assertFalse(follower.update(images[2]).is_cold)

    def test_a_file_and_an_image_without_contrast(self):
        write_mha("1.mha", _volume(1))
        follower = tessera.Follower(_volume(0), "Rigid")
        by_array, by_file = follower.update(_volume(1)), tessera.Follower(_volume(0), "Rigid").update("1.mha")
        self.assertEqual(
            by_array.transform.maps[0]["TransformParameters"], by_file.transform.maps[0]["TransformParameters"]
        )
        for wrong in np.zeros((20, 24, 28), np.int16), blobs((20, 24, 20)), np.full((20, 24, 28), np.nan):
            with self.assertRaises(tessera.InputError):
                follower.update(tessera.Image(wrong, (1.5, 1, 2), (-10, 3, 7)))
            self.assertIs(follower.last, by_array.transform)
        self.assertFalse(follower.update(_volume(1)).is_cold)

    def test_half_an_image_is_warned_of(self):
        follower, half = tessera.Follower(_volume(0), ["Rigid", SPLINE]), _volume(0.5).array.copy()
        half[:10] = 0
        self.assertEqual(follower.update(_volume(0.5)).warnings, ())
        warnings = follower.update(tessera.Image(half, (1.5, 1, 2), (-10, 3, 7))).warnings
        self.assertRegex(warnings[-1], "same part of the patient")

    def test_a_deadline_ends_an_update(self):
        follower = tessera.Follower(blobs((40, 44)), ENDLESS)
        begun = time.monotonic()
        update = follower.update(blobs((40, 44), 1), deadline=0.3)
        self.assertTrue(update.ended_in_time)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertIn("MaximumNumberOfIterations", update.parameters[0])
        with self.assertRaisesRegex(tessera.UsageError, "deadline: 0: no time"):
            follower.update(blobs((40, 44), 1), deadline=0)

    def test_one_update_at_a_time_which_can_be_cancelled(self):
        follower, begun, cancel = tessera.Follower(blobs((40, 44)), ENDLESS), threading.Event(), tessera.Cancel()
        ended = []

        def run():
            try:
                follower.update(blobs((40, 44), 1), cancel=cancel, progress=lambda _: begun.set())
            except tessera.Cancelled as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self.assertTrue(begun.wait(60))
        with self.assertRaisesRegex(tessera.UsageError, "one at a time"):
            follower.update(blobs((40, 44), 1))
        cancel.cancel()
        thread.join()
        self.assertEqual(len(ended), 1)
        self.assertIsNone(follower.last)

    def test_what_is_wrong_is_told_at_once(self):
        with self.assertRaisesRegex(tessera.UsageError, 'Metric "Nothing"'):
            tessera.Follower(_volume(0), {**ENDLESS, "Metric": "Nothing"})
        with self.assertRaisesRegex(tessera.UsageError, "no volumes over time"):
            tessera.register_series(np.zeros((4, 4, 4)), "SeriesRigid")
        with self.assertRaisesRegex(tessera.UsageError, "reference 9: no such volume"):
            tessera.register_series([_volume(0), _volume(1)], "SeriesRigid", reference=9)
        with self.assertRaisesRegex(tessera.UsageError, "another grid"):
            tessera.register_series([_volume(0), blobs((20, 24, 28))], "SeriesRigid")


class SeriesInTime(InAFolder):
    def setUp(self):
        super().setUp()
        self.images = [_volume(shift) for shift in (0, 0.4, 0.8, 0.6)]
        first = self.images[0]
        self.series = tessera.Image(
            np.stack([image.array for image in self.images]), (*first.spacing, 2.5), (*first.origin, 0)
        )
        write_mha("series.mha", self.series)

    def follow(self, *words):
        program(
            "tessera-follow", "--series", "series.mha", "-p", "SeriesRigid", "-out", "out", "--write", "all", *words
        )
        return self.folder.joinpath("out/motion.tsv").read_text()

    def test_numbers_and_voxels_are_those_of_the_program(self):
        for reference in "mean", 2:
            theirs = self.follow("--reference", reference, "-threads", 2)
            found = tessera.register_series(self.series, "SeriesRigid", reference=reference, threads=1)
            self.assertEqual(found.motion_table(), theirs)
            np.testing.assert_array_equal(found.images.array, _voxels_of_nifti("out/series.nii.gz", found.images.array))
            self.assertEqual(found.images.spacing, self.series.spacing)
            last = tessera.Transform.load("out/volume.000003.0.txt")
            self.assertEqual(found.transforms[3].maps[0]["TransformParameters"], last.maps[0]["TransformParameters"])
            self.assertEqual(found.errors, [""] * 4)
        self.assertEqual(found.motion_table("spm"), self.follow("--reference", 2, "--order", "spm"))
        self.assertAlmostEqual(found.motion[0, 3] - found.motion[3, 3], 1.5 * 0.6, delta=0.1)
        self.assertEqual(found.framewise_displacement[0], 0)
        self.assertIsNone(found._repr_html_())
        shown = tessera.register_series(self.series, "SeriesRigid", report=True)._repr_html_()
        self.assertRegex(shown, "4 volumes, registered to their mean.*DVARS")
        self.assertGreater(found.rms_displacement[1], 0.3)

    def test_files_lists_and_kinds_of_images(self):
        expected = tessera.register_series(self.series, "SeriesRigid", reference="first")
        for series in self.images, "series.mha", [image.array for image in self.images]:
            found = tessera.register_series(series, "SeriesRigid", reference="first", threads=1)
            if isinstance(series, list) and isinstance(series[0], np.ndarray):
                self.assertIsInstance(found.images[1], np.ndarray)
                continue
            self.assertEqual(found.motion_table(), expected.motion_table())
            images = found.images if isinstance(series, list) else found.images.array
            for image, one in zip(images, expected.images.array):
                np.testing.assert_array_equal(np.asarray(image), one)
        self.assertEqual(tessera.register_series("series.mha", "SeriesRigid").images.spacing, self.series.spacing)
        reference = tessera.register_series(self.images[1:], "SeriesRigid", reference=self.images[0], threads=2)
        np.testing.assert_allclose(reference.motion, expected.motion[1:], atol=2e-3)

    def test_images_of_nibabel_and_simpleitk(self):
        import nibabel
        import SimpleITK

        expected = tessera.register_series(self.series, "SeriesRigid", reference="first")
        affine = np.diag([-1.5, -1, 2, 1])
        affine[:3, 3] = 10, -3, 7
        theirs = nibabel.Nifti1Image(self.series.array.T, affine)
        theirs.header.set_zooms((1.5, 1, 2, 2.5))
        found = tessera.register_series(theirs, "SeriesRigid", reference="first")
        np.testing.assert_allclose(found.motion, expected.motion, atol=1e-5)
        self.assertEqual(found.images.header.get_zooms()[3], 2.5)
        np.testing.assert_array_equal(found.images.affine, affine)
        theirs = SimpleITK.GetImageFromArray(self.series.array, isVector=False)
        theirs.SetSpacing(self.series.spacing)
        theirs.SetOrigin(self.series.origin)
        found = tessera.register_series(theirs, "SeriesRigid", reference="first")
        self.assertEqual(found.motion_table(), expected.motion_table())
        np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(found.images), expected.images.array)

    def test_a_volume_without_contrast_has_no_result(self):
        images = [self.images[0], tessera.Image(0 * self.images[0].array, (1.5, 1, 2), (-10, 3, 7)), self.images[1]]
        found = tessera.register_series(images, "SeriesRigid", reference="first")
        self.assertIn("every voxel is 0", found.errors[1])
        self.assertIsNone(found.transforms[1])
        self.assertTrue(np.isnan(found.motion[1]).all())
        self.assertFalse(found.images[1].array.any())
        self.assertGreater(found.correlation[2], 0.9)

    def test_it_can_be_cancelled(self):
        cancel, passes = tessera.Cancel(), set()

        def progress(at):
            passes.add((at.stage, at.stages))
            cancel.cancel()

        with self.assertRaises(tessera.Cancelled):
            tessera.register_series([self.images[0]] * 200, "SeriesRigid", threads=1, progress=progress, cancel=cancel)
        self.assertEqual(passes, {(0, 2)})


def _voxels_of_nifti(path, like):
    import gzip

    bytes_of = gzip.open(path).read()
    return np.frombuffer(bytes_of[-like.nbytes :], like.dtype).reshape(like.shape)


if __name__ == "__main__":
    main()
