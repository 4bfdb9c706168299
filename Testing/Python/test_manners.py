"""The module writes, prints, forks and signals nothing, ends cleanly with the interpreter, and keeps no memory."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import tessera
from support import ENDLESS, QUICK, InAFolder, blobs, main

HEAD = """
import os, signal, sys, threading, time
import numpy as np, tessera
from support import ENDLESS, QUICK, blobs
fixed, moving = blobs((20, 24)), blobs((20, 24), 1)
"""


def _registered(fixed, moving):
    return tessera.register(fixed, moving, QUICK).transform


class Manners(InAFolder):
    def python(self, code, code_of_exit=0, head=HEAD, **more):
        done = subprocess.run(
            [sys.executable, "-B", "-c", head + code], capture_output=True, text=True, timeout=120, **more
        )
        self.assertEqual(done.returncode, code_of_exit, done.stderr)
        return done

    def test_an_import_starts_and_changes_nothing(self):
        done = self.python(
            """
import os, sys, threading, numpy
def state():
    status = open("/proc/self/status").read()
    return ([row for row in status.splitlines() if row.startswith(("Threads", "SigB", "SigC", "SigI"))], dict(os.environ),
            os.getcwd(), sorted(os.listdir("/proc/self/fd")), threading.active_count())
before = state()
import tessera
assert state() == before, (before, state())
for name in "itk", "SimpleITK", "nibabel", "torch", "xarray", "scipy", "ants":
    assert name not in sys.modules, name
""",
            head="",
        )
        self.assertEqual(done.stdout + done.stderr, "")

    def test_a_run_prints_and_writes_nothing(self):
        done = self.python("""
transform = tessera.register(fixed, moving, [QUICK, "BSpline"], threads=2).transform
transform.apply(moving); transform.inverse().apply(fixed); transform.jacobian(); transform.displacement()
""")
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertEqual(os.listdir(), [])

    def test_no_call_opens_a_file_for_writing_or_starts_a_process(self):
        if shutil.which("strace") is None:
            self.skipTest("strace is not installed")
        code = HEAD + """
import pickle
found = tessera.register(fixed, moving, ["Rigid", QUICK], threads=2, fixed_mask=fixed > -1000, report=True,
                         fixed_labels=(fixed > 50) * 3, moving_labels=(moving > 50) * 3)
transform = found.transform
transform.apply(moving); transform.apply(moving, labels=True); transform.apply_points([[1, 2]])
transform.inverse().apply(fixed); transform.displacement(); transform.jacobian(); transform.maps
pickle.loads(pickle.dumps(transform)); found._repr_html_(); found.quality; found.levels; found.image
tessera.check(fixed, moving, "Rigid"); list(tessera.register_many([(fixed, moving)] * 3, QUICK, lanes=2))
tessera.Follower(fixed, QUICK, resample=True).update(moving); volume = blobs((12, 12, 12))
tessera.register_series([volume] * 3, "SeriesRigid")
tessera.compare(fixed, moving); tessera.compare_labels(fixed, moving); tessera.components(); tessera.describe("Full")
import tessera.elastix as elx
maps = elx.ParameterObject.New(elx.ParameterObject.GetDefaultParameterMap("rigid", 1))
_, maps = elx.elastix_registration_method(fixed, moving, maps, log_to_console=False)
elx.transformix_filter(moving, maps); maps = pickle.loads(pickle.dumps(maps)); str(maps)
try:
    import itk
    image = itk.image_from_array(moving)
except ImportError:
    sys.exit()
method = elx.ElastixRegistrationMethod.New(image, image, maps.New(QUICK))
method.Update(); method.GetCombinationTransform(); elx.transformix_deformation_field(image, maps)
elx.transformix_jacobian(image, maps); mesh = itk.Mesh[itk.F, 2].New(); mesh.SetPoint(0, [1, 2])
elx.TransformixFilter.New(image, maps, input_mesh=mesh).Update()
"""
        calls = "openat,open,creat,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,memfd_create"
        calls += ",fork,vfork,execve,socket,kill"
        done = subprocess.run(
            ["strace", "-f", "-o", "calls", "-e", f"trace={calls}", sys.executable, "-B", "-c", code],
            capture_output=True,
            text=True,
        )
        if "ptrace" in done.stderr:
            self.skipTest("strace may not trace here")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        rows = self.folder.joinpath("calls").read_text().splitlines()
        reads = [row for row in rows if "O_RDONLY" in row and "O_CREAT" not in row]
        others = [row for row in rows if row not in reads and ") = " in row and "ENOENT" not in row]
        others = [row for row in others if "/dev/shm/sem." not in row]  # which itk makes when it is imported
        self.assertGreater(len(reads), 20)
        self.assertEqual(len(others), 1, others)  # the interpreter itself

    def test_ctrl_c_ends_a_run(self):
        process = subprocess.Popen(
            [
                sys.executable,
                "-B",
                "-c",
                HEAD + """
try:
    tessera.register(fixed, moving, [QUICK, ENDLESS], progress=lambda p: print("goes on", flush=True))
except KeyboardInterrupt as ended:
    print("stopped", ended.partial.transform.dimension, flush=True)
""",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertIn("goes on", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
        self.assertEqual((rest.splitlines()[-1], process.returncode), ("stopped 2", 0))

    def test_a_daemon_thread_may_run_while_the_interpreter_ends(self):
        done = self.python("""
threading.Thread(target=tessera.register, args=(fixed, moving, ENDLESS), daemon=True).start()
time.sleep(0.2)
""")
        self.assertEqual(done.stderr, "")

    def test_an_exception_ends_the_interpreter_as_usual(self):
        self.python("tessera.register(fixed, moving, ENDLESS, progress=lambda p: sys.exit(7))", 7)

    def test_a_forked_process_may_run_and_exit(self):
        self.python("""
expected = tessera.register(fixed, moving, QUICK, threads=2).image
for ending in sys.exit, os._exit:
    child = os.fork()
    if child == 0:
        same = np.array_equal(tessera.register(fixed, moving, QUICK, threads=2).image, expected)
        ending(0 if same else 5)
    assert os.waitpid(child, 0)[1] == 0
""")

    def test_a_fork_in_the_midst_of_a_run(self):
        self.python("""
stop, begun, codes = tessera.Cancel(), threading.Event(), []
def run():
    try:
        tessera.register(fixed, moving, ENDLESS, cancel=stop, progress=lambda p: begun.set())
    except tessera.Cancelled:
        pass
thread = threading.Thread(target=run)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    tessera.register(fixed, moving, QUICK)
    sys.exit(0)
code = os.waitpid(child, 0)[1]
stop.cancel()
thread.join()
assert code == 0, code
""")

    def test_multiprocessing_and_the_workers_of_torch(self):
        self.folder.joinpath("job.py").write_text("""
import multiprocessing, numpy as np, tessera
from support import QUICK, blobs
def job(shift):
    return tessera.register(blobs((20, 24)), blobs((20, 24), shift), QUICK).transform
class Jobs:
    def __len__(self): return 2
    def __getitem__(self, number): return job(number + 1).matrix
if __name__ == "__main__":
    here = [job(shift).matrix for shift in (1, 2)]
    for way in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(way).Pool(2) as pool:
            for transform, expected in zip(pool.map(job, (1, 2)), here):
                np.testing.assert_array_equal(transform.matrix, expected)
        try:
            from torch.utils.data import DataLoader
        except ImportError:
            continue
        loader = DataLoader(Jobs(), batch_size=None, num_workers=2, multiprocessing_context=way)
        np.testing.assert_array_equal([matrix.numpy() for matrix in loader], here)
""")
        done = subprocess.run([sys.executable, "-B", "job.py"], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_other_packages_are_imported_before_and_after(self):
        for package in "itk", "SimpleITK", "ants", "nibabel", "scipy.ndimage", "torch":
            if importlib.util.find_spec(package.split(".")[0]) is None:
                continue
            with self.subTest(package):
                for first, second in (package, "tessera"), ("tessera", package):
                    self.python(
                        f"""
import {first}
import {second}
import numpy as np, tessera
from support import QUICK, blobs
tessera.register(blobs((20, 24)), blobs((20, 24), 1), QUICK)
if "{package}" == "SimpleITK":
    import SimpleITK
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(blobs((20, 24))), "a.mha")
    assert np.array_equal(tessera.read("a.mha").array, SimpleITK.GetArrayFromImage(SimpleITK.ReadImage("a.mha")))
""",
                        head="",
                    )

    def test_workers_of_joblib(self):
        try:
            import joblib
        except ImportError:
            self.skipTest("joblib is not installed")
        fixed, moving = blobs((20, 24)), blobs((20, 24), 1)
        here = tessera.register(fixed, moving, QUICK).transform.matrix
        for there in joblib.Parallel(2)(joblib.delayed(_registered)(fixed, moving) for _ in range(2)):
            np.testing.assert_array_equal(there.matrix, here)

    def test_a_lack_of_memory_is_an_error_of_ours(self):
        self.python("""
import resource
large = blobs((120, 120, 120))
tessera.register(fixed, moving, QUICK, threads=2)
pages = int(open("/proc/self/statm").read().split()[0])
kinds = set()
for megabytes in 5, 20, 40, 80, 400:
    limit = pages * os.sysconf("SC_PAGE_SIZE") + megabytes * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        tessera.register(large, large, {**QUICK, "MaximumNumberOfIterations": 1}, threads=2)
    except MemoryError as error:
        kinds.add(type(error))
assert kinds == {tessera.OutOfMemory}, kinds
""")

    def test_memory_does_not_grow(self):
        fixed, moving = blobs((20, 24)), blobs((20, 24), 1)

        def resident_kb(runs):
            for _ in range(runs):
                tessera.register(fixed, moving, QUICK, threads=2).transform.apply(moving)
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024

        before = resident_kb(30)
        self.assertLess(resident_kb(200), before * 1.02)

    def test_memory_is_given_back(self):
        done = self.python("""
import gc
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
fixed, moving = (np.random.default_rng(1).random((100, 100, 100), np.float32) for _ in range(2))
tessera.register(fixed[:9, :9, :9], moving[:9, :9, :9], QUICK)
gc.collect()
before, image = resident(), fixed.nbytes
spline = {**QUICK, "Transform": "BSplineTransform", "MaximumNumberOfIterations": 3, "NumberOfResolutions": 2}
for _ in range(2):
    found = tessera.register(fixed, moving, ["Affine", spline], threads=2)
    during = resident()
    del found
print((during - before) / image, (resident() - before) / image)
""")
        held, left = map(float, done.stdout.split())
        self.assertGreater(held, 6)  # images
        self.assertLess(left, 4)  # about ten if the C library keeps what was set free

    def test_the_extension_shows_one_symbol(self):
        done = subprocess.run(["nm", "-D", "--defined-only", tessera._core.__file__], capture_output=True, text=True)
        self.assertEqual([row.split()[-1] for row in done.stdout.splitlines()], ["PyInit__core"])


if __name__ == "__main__":
    main()
