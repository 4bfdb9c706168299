"""The scripts of dox/Examples say what they should, and the cells of the notebook run."""

import json
import subprocess
import sys
import unittest.mock

from support import SOURCE, InAFolder, main

EXAMPLES = SOURCE / "dox/Examples"
SAYS = {
    "register_arrays": "correlation 0.88 before, 0.99 after",
    "labels_and_points": "Dice of all labels: 0.70 before, 1.00 after",
    "many_pairs": "2.5\t2.50 mm\tcorrelation 1.000\n",
    "follow_a_series": "mm: [0.  0.4 0.9 0.5]",
    "own_parameters": "from its file the transform is the same: True",
}


class Examples(InAFolder):
    def test_scripts(self):
        self.assertEqual({path.stem for path in EXAMPLES.glob("*.py")}, set(SAYS))
        for name, text in SAYS.items():
            with self.subTest(name):
                done = subprocess.run([sys.executable, "-B", EXAMPLES / f"{name}.py"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(text, done.stdout)

    def test_cells_of_the_notebook(self):
        notebook = json.loads((EXAMPLES / "registration.ipynb").read_text())
        code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertTrue(any(cell.get("outputs") for cell in notebook["cells"]), "it has pictures")
        pictures = unittest.mock.MagicMock()
        axes = unittest.mock.MagicMock()
        pictures.subplots.side_effect = lambda rows, columns, **_: (axes, [axes] * columns)
        modules = {"matplotlib": pictures, "matplotlib.pyplot": pictures}
        pictures.pyplot = pictures
        names = {}
        with unittest.mock.patch.dict(sys.modules, modules):
            for cell in code:
                exec(cell, names)
        self.assertLess(names["error"].mean(), names["error_before"].mean() / 4)


if __name__ == "__main__":
    main()
