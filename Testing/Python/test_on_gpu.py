"""On a CUDA device results have the bits of the program there, and the CPU's bits stay after CUDA was used."""

import os
import subprocess
import sys
import unittest

import numpy as np
import tessera
from support import QUICK, InAFolder, blobs, main, program, write_mha

SHAPE = (40, 44, 48)


class OnGpu(InAFolder):
    def setUp(self):
        super().setUp()
        self.fixed, self.moving = blobs(SHAPE), blobs(SHAPE, 1.5)
        try:
            tessera.register(self.fixed, self.moving, QUICK, device="cuda")
        except tessera.DeviceError as error:
            if os.environ.get("TESSERA_REQUIRE_GPU") == "1":
                raise
            self.skipTest(str(error))

    def test_bits_are_those_of_the_program(self):
        write_mha("f.mha", tessera.Image(self.fixed))
        write_mha("m.mha", tessera.Image(self.moving))
        for name in "FreeFormNMI", "Rigid":
            path = tessera.parameter_files()[name]
            found = tessera.register(self.fixed, self.moving, name, device="cuda")
            self.assertEqual(found.device, "cuda:0")
            program("tessera", "-f", "f.mha", "-m", "m.mha", "-p", path, "--device", "cuda", "-out", "out", "-q")
            of_program = tessera.Transform.load("out/TransformParameters.0.txt")
            self.assertEqual(of_program.maps[0]["TransformParameters"], found.transform.maps[0]["TransformParameters"])

    def test_arrays_on_the_gpu_come_and_go(self):
        wanted = tessera.register(self.fixed, self.moving, QUICK, device="cuda").image
        for package, to_gpu, to_host in (
            ("torch", lambda m, array: m.from_numpy(array).cuda(), lambda tensor: tensor.cpu().numpy()),
            ("cupy", lambda m, array: m.asarray(array), lambda array: array.get()),
        ):
            with self.subTest(package):
                module = self.package(package)
                fixed, moving = (to_gpu(module, array) for array in (self.fixed, self.moving))
                image = tessera.register(fixed, moving, QUICK, device="cuda").image
                self.assertIs(type(image), type(fixed))
                self.assertEqual(image.device, fixed.device)
                np.testing.assert_array_equal(to_host(image), wanted)

    def test_the_same_bits_from_arrays_on_the_gpu_and_in_memory(self):
        torch = self.package("torch")
        series = np.stack([blobs(SHAPE[1:], shift) for shift in (0, 1, 2, 1)])
        splines = {**QUICK, "ImageSampler": "RandomCoordinate", "FixedImageBSplineInterpolationOrder": 3}
        for fixed, moving, parameters in (
            (self.fixed, self.moving, "FreeFormNMI"),
            (self.fixed, self.moving, "Rigid"),
            (self.fixed, self.moving, splines),
            (series, series, "GroupwiseMotion"),
        ):
            wanted = tessera.register(fixed, moving, parameters, device="cuda")
            tensors = (torch.from_numpy(array).cuda() for array in (fixed, moving))
            found = tessera.register(*tensors, parameters, device="cuda")
            self.assertEqual(found.transform.maps[0], wanted.transform.maps[0])
            np.testing.assert_array_equal(found.image.cpu().numpy(), wanted.image)
            self.assertEqual(found.quality, wanted.quality)
            found.save("gpu")
            wanted.save("host")
            for file in os.listdir("host"):
                with open(f"host/{file}", "rb") as one, open(f"gpu/{file}", "rb") as other:
                    self.assertTrue("IterationInfo" in file or one.read() == other.read(), file)

    def test_work_that_the_callers_stream_has_still_to_do_comes_first(self):
        torch = self.package("torch")
        wanted = tessera.register(self.fixed, self.moving, QUICK, device="cuda").image
        ready = [torch.from_numpy(array).cuda() for array in (self.fixed, self.moving)]
        with torch.cuda.stream(torch.cuda.Stream()):
            images = [torch.zeros_like(one) for one in ready]
            torch.cuda._sleep(200_000_000)  # cycles
            for image, one in zip(images, ready):
                image.copy_(one)
            found = tessera.register(*images, QUICK, device="cuda").image
            twice = found * 2
        torch.cuda.synchronize()
        np.testing.assert_array_equal(found.cpu().numpy(), wanted)
        np.testing.assert_array_equal(twice.cpu().numpy(), 2 * wanted)

    def test_arrays_on_the_gpu_of_other_types_and_strides_and_on_the_cpu(self):
        torch = self.package("torch")
        for dtype in torch.int16, torch.float16, torch.float64, torch.uint8:
            positive = (np.abs(array) / 8.0 for array in (self.fixed, self.moving))
            pair = [torch.from_numpy(array.clip(0, 255)).to(dtype) for array in positive]
            for device in "cuda", "cpu":
                wanted = tessera.register(*pair, QUICK, device=device).image
                found = tessera.register(*(one.cuda() for one in pair), QUICK, device=device).image
                self.assertEqual((found.dtype, found.is_cuda), (wanted.dtype, True))
                np.testing.assert_array_equal(found.cpu().numpy(), wanted.numpy())
        turned = [torch.from_numpy(array).cuda().permute(2, 0, 1) for array in (self.fixed, self.moving)]
        wanted = tessera.register(*(one.cpu() for one in turned), QUICK, device="cuda").image
        np.testing.assert_array_equal(
            tessera.register(*turned, QUICK, device="cuda").image.cpu().numpy(), wanted.numpy()
        )

    def test_what_is_wrong_with_an_array_on_the_gpu_is_told_as_of_others(self):
        torch = self.package("torch")
        broken, whole = self.moving.astype(np.float32), np.full(SHAPE, np.nan, np.float32)
        broken[3, 4, 5] = np.nan
        on_host = tessera.register(self.fixed, broken, QUICK, device="cuda")
        on_gpu = tessera.register(self.fixed, torch.from_numpy(broken).cuda(), QUICK, device="cuda")
        self.assertEqual(on_gpu.warnings, on_host.warnings)
        self.assertTrue(on_gpu.warnings)
        with self.assertRaises(tessera.InputError):
            tessera.register(self.fixed, torch.from_numpy(whole).cuda(), QUICK, device="cuda")
        follower = tessera.Follower(torch.from_numpy(self.fixed).cuda(), QUICK, device="cuda", resample=True)
        wanted = tessera.Follower(self.fixed, QUICK, device="cuda", resample=True)
        for shift in 1.5, 1.6:
            moving = blobs(SHAPE, shift)
            update = follower.update(torch.from_numpy(moving).cuda())
            self.assertTrue(update.image.is_cuda)
            np.testing.assert_array_equal(update.image.cpu().numpy(), wanted.update(moving).image)
        with self.assertRaises(tessera.InputError):
            follower.update(torch.from_numpy(broken).cuda())

    def test_the_cpu_has_its_own_bits_before_and_after(self):
        before = tessera.register(self.fixed, self.moving, "FreeFormNMI", device="cpu").image
        tessera.register(self.fixed, self.moving, "FreeFormNMI", device="cuda")
        np.testing.assert_array_equal(
            tessera.register(self.fixed, self.moving, "FreeFormNMI", device="cpu").image, before
        )

    def test_a_fork_after_cuda_says_what_to_do(self):
        done = subprocess.run(
            [
                sys.executable,
                "-B",
                "-c",
                """
import os, sys, tessera
from support import QUICK, blobs
tessera.register(blobs((20, 24)), blobs((20, 24), 1), QUICK, device="cuda")
child = os.fork()
if child == 0:
    try:
        tessera.register(blobs((20, 24)), blobs((20, 24), 1), QUICK, device="cuda")
    except tessera.DeviceError as error:
        print(error)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
""",
            ],
            capture_output=True,
            text=True,
        )
        self.assertIn("fork", done.stdout, done.stderr)


if __name__ == "__main__":
    main()
