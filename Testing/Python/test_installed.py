"""The files that a wheel gets are all that the package needs: installed elsewhere, it works without the build and without PATH."""

import os
import shutil
import subprocess
import sys

from support import BIN, SOURCE, InAFolder, main


class Installed(InAFolder):
    def test_the_package_is_complete(self):
        package = self.folder / "tessera"
        shutil.copytree(SOURCE / "Tools/Python/tessera", package)  # wheel.packages of pyproject.toml
        words = ["cmake", "--install", BIN.parent, "--component", "python", "--prefix", self.folder]
        subprocess.run(words, check=True, capture_output=True)
        there = {path.name for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}
        for folder, endings in (SOURCE / "Tools/Python/tessera", ("py", "typed")), (
            SOURCE / "Parameters",
            ("txt", "toml"),
        ):
            for ending in endings:
                self.assertLessEqual({path.name for path in folder.glob(f"*.{ending}")}, there)
        self.assertIn("_core.pyi", there)
        self.assertTrue(os.access(package / "tessera-decode", os.X_OK))
        done = subprocess.run(
            [sys.executable, "-B", SOURCE / "Testing/Python/try_installed.py"],
            env={"PYTHONPATH": str(self.folder), "PATH": "/nowhere"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{package} is complete", done.stdout)


if __name__ == "__main__":
    main()
