"""Types are complete, examples in docstrings hold, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import unittest
from pathlib import Path

import tessera
from support import SOURCE, InAFolder, main

PACKAGE = Path(tessera.__file__).parent


class WordsAndTypes(InAFolder):
    def test_mypy_finds_nothing(self):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--cache-dir",
                self.folder,
                "--config-file",
                SOURCE / "pyproject.toml",
                PACKAGE,
                SOURCE / "dox/Examples",
            ],
            capture_output=True,
            text=True,
        )
        if "No module named mypy" in done.stderr:
            self.skipTest("mypy is not installed")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_examples_in_docstrings(self):
        run = 0
        for _, name, _ in pkgutil.iter_modules(tessera.__path__):
            if name != "_core":
                module = importlib.import_module(f"tessera.{name}")
                result = doctest.testmod(module)
                self.assertEqual(result.failed, 0, name)
                run += result.attempted
        self.assertGreater(run, 10)

    def test_every_public_name_has_a_docstring(self):
        for name in tessera.__all__:
            thing = getattr(tessera, name)
            if name == "__version__":
                continue
            self.assertTrue(inspect.getdoc(thing), name)
            for member, value in vars(thing).items() if inspect.isclass(thing) else ():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(inspect.getdoc(value), f"{name}.{member}")

    def test_the_version_is_that_of_the_project(self):
        project = (SOURCE / "CMakeLists.txt").read_text()
        self.assertIn(f"project(tessera VERSION {tessera.__version__} ", project)
        for row in (SOURCE / "pyproject.toml").read_text().splitlines():
            if row.startswith("regex = "):
                self.assertEqual(re.search(row.split("'")[1], project)["value"], tessera.__version__)


if __name__ == "__main__":
    main()
