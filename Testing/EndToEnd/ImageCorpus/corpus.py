"""The files of the corpus and what each must be read as."""
import os
import re


class Case:
    """One image: the values on a grid that its bytes mean, and which words may or must be said instead or beside.

    values      a list, or a list of such lists for several values a voxel
    told        a wrong result is allowed beside a note that holds this regular expression
    always_told there must be such a note, even where the result is as expected: the file leaves something open
    refused     an error that holds this regular expression is allowed instead
    share       largest difference of a value, as a share of the largest one
    """

    def __init__(self, path, grid, values, what, told=None, refused=None, always_told=None, share=1e-4):
        self.path, self.grid, self.values, self.what = path, grid, values, what
        self.told, self.refused, self.always_told, self.share = told, refused, always_told, share

    @property
    def components(self):
        return self.values if isinstance(self.values[0], (list, tuple)) else [self.values]

    @property
    def result(self):
        """The name that the program gives to its result."""
        return re.sub(r'\.(hdr|img)\.gz$|\..*', lambda end: '.' + end[1] if end[1] else '', os.path.basename(self.path))


class Corpus:
    """Writes files into a folder and keeps their truth."""

    def __init__(self, folder):
        self.folder, self.cases, self.used = folder, [], {}

    def name(self, kind):
        """A name that no other file of the corpus has: results are called after their images."""
        cleaned = re.sub(r'[^A-Za-z0-9]+', '_', kind).strip('_')
        self.used[cleaned] = self.used.get(cleaned, -1) + 1
        return f'{cleaned}_n{self.used[cleaned]}'

    def write(self, name, *parts):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            for part in parts:
                file.write(part if isinstance(part, bytes) else part.encode('latin-1'))
        return path

    def expect(self, path, grid, values, what, **words):
        self.cases.append(Case(path, grid, values, what, **words))
