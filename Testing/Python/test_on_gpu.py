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
