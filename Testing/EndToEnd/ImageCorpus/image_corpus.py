"""Makes the corpus in the working folder, runs tessera-transform on it, and prints what is wrong.

usage: image_corpus.py [PART]...    PART: one of PARTS, for which a module makes files; default: all
Every image is resampled with the identity, close to its own voxels (truth.sampled_grid), in one run for all images of a grid.
In the environment TELL_ALL=1 prints every kind with what was said about one of its files.
"""
import collections
import concurrent.futures
import importlib
import math
import os
import re
import struct
import subprocess
import sys

from corpus import Corpus
from truth import sampled_grid, samples

PARTS = ['nifti', 'metaimage', 'nrrd', 'dicom', 'dicom_frames', 'dicom_colour', 'tiff', 'picture', 'vtk_and_gipl', 'hdf5']
DEFAULT = -77777.0  # no voxel has this value
ALLOWED = ('right', 'wrong, told', 'refused')
NAME = r'images/[A-Za-z0-9_]*'


def transform_file(grid, path):
    n, sampled = grid.dimension, sampled_grid(grid)
    words = lambda numbers: ' '.join(repr(float(x)) for x in numbers)
    with open(path, 'w') as file:
        file.write(f'''(Transform "TranslationTransform")
(NumberOfParameters {n})
(TransformParameters {words([0] * n)})
(InitialTransformParametersFileName "NoInitialTransform")
(FixedImageDimension {n})
(MovingImageDimension {n})
(Size {' '.join(str(s) for s in grid.size)})
(Index {' '.join('0' * n)})
(Spacing {words(sampled.spacing)})
(Origin {words(sampled.origin)})
(Direction {words(x for axis in grid.axes for x in axis)})
(UseDirectionCosines "true")
(ResampleInterpolator "FinalLinearInterpolator")
(Resampler "DefaultResampler")
(DefaultPixelValue {DEFAULT})
(ResultImageFormat "mha")
(ResultImagePixelType "float")
(CompressResultImage "false")
''')


def read_result(path, grid):
    """The components or the volumes of a result, or none if it is not on this grid; and the range of its whole numbers."""
    with open(path, 'rb') as file:
        data = file.read()
    fields = dict(re.findall(rb'^(\w+) = (.*)$', data[:data.index(b'LOCAL')], re.M))
    size = [int(n) for n in fields[b'DimSize'].split()]
    code = {b'MET_FLOAT': 'f', b'MET_UCHAR': 'B', b'MET_USHORT': 'H', b'MET_SHORT': 'h'}.get(fields[b'ElementType'])
    if size[:grid.dimension] != grid.size or not code:
        return [], None
    channels, count = int(fields.get(b'ElementNumberOfChannels', 1)), math.prod(grid.size)
    volumes = math.prod(size[grid.dimension:])
    layout = f'<{channels * count * volumes}{code}'
    numbers = struct.unpack(layout, data[-struct.calcsize(layout):])
    return [
        numbers[v * count * channels + c:(v + 1) * count * channels:channels] for v in range(volumes)
        for c in range(channels)
    ], {'B': (0, 255), 'H': (0, 65535), 'h': (-32768, 32767)}.get(code)


def agree(found, wanted, share, limits):
    within = share * max([abs(w) for w in wanted if math.isfinite(w)] + [1e-30])
    if limits:  # colours keep their type
        wanted, within = [min(max(w, limits[0]), limits[1]) for w in wanted], max(within, 0.5)
    return all(math.isnan(w) or abs(f - w) <= within for f, w in zip(found, wanted))


class Expected:
    """Samples of truths, each computed once."""

    def __init__(self):
        self.known = {}

    def of(self, size, values):
        key = (tuple(size), tuple(values))
        if key not in self.known:
            self.known[key] = samples(size, values)
        return self.known[key]


def verdict_on(case, result, said, expected):
    errors = [line for line in said if line.startswith('ERROR')]
    notes = [line for line in said if line.startswith(('NOTE', 'WARNING'))]
    tells = lambda words, lines: words is not None and any(re.search(words, line) for line in lines)
    if not os.path.exists(result):
        if not errors:
            return 'NEITHER RESULT NOR ERROR'
        return 'refused' if tells(case.refused, errors) else 'REFUSED'
    if errors:
        return 'RESULT BESIDE AN ERROR'
    (found, limits), wanted = read_result(result, case.grid), [expected.of(case.grid.size, c) for c in case.components]
    if len(found) == 1 and all(w is wanted[0] for w in wanted):  # grey that is stored as colour may come out as grey
        wanted = wanted[:1]
    if (len(found), len(wanted)) == (4, 3):  # and opacity
        found.pop()
    is_right = len(found) == len(wanted) and all(agree(f, w, case.share, limits) for f, w in zip(found, wanted))
    if case.always_told and not tells(case.always_told, notes):
        return 'NOT TOLD' if is_right else 'WRONG WITHOUT A WORD'
    if is_right:
        return 'right'
    return 'wrong, told' if tells(case.told, notes) else 'WRONG WITHOUT A WORD'


def run(number, group):
    """Resamples the images of one grid. Returns the folder of results and the lines of the log for each image."""
    transform_file(group[0].grid, f'transform{number}.txt')
    with open(f'list{number}.txt', 'w') as file:
        file.writelines(case.path + '\n' for case in group)
    with open(f'log{number}.txt', 'w') as log:
        done = subprocess.run([
            'tessera-transform', '-in', f'@list{number}.txt', '-tp', f'transform{number}.txt', '-out',
            f'results{number}', '--device', 'cpu', '-threads', '2'
        ], stdout=log, stderr=log)
    if done.returncode not in (0, 3, 7):
        sys.exit(f'list{number}.txt: exit code {done.returncode}: see log{number}.txt')
    lines = collections.defaultdict(list)
    with open(f'log{number}.txt') as log:
        for line in log:
            for path in set(re.findall(NAME, line)):
                lines[path].append(line.rstrip())
    has_errors = any(line.startswith('ERROR') for said in lines.values() for line in said)
    if has_errors != (done.returncode != 0):
        sys.exit(f'list{number}.txt: exit code {done.returncode} beside its errors: see log{number}.txt')
    return f'results{number}', lines


def main(parts):
    corpus, groups, kinds = Corpus('images'), collections.OrderedDict(), collections.OrderedDict()
    for part in parts or PARTS:
        importlib.import_module(part + '_files').make(corpus)
    for case in corpus.cases:
        groups.setdefault(case.grid.key(), []).append(case)
    expected, counts = Expected(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(run, range(len(groups)), groups.values()))
    for number, group in enumerate(groups.values()):
        folder, lines = runs[number]
        for case in group:
            said = lines[re.match(NAME, case.path).group()]
            verdict = verdict_on(case, f'{folder}/{case.result}.mha', said, expected)
            counts[verdict] += 1
            kinds.setdefault((verdict, case.what), []).append((number, case, said))
    for (verdict, what), cases in sorted(kinds.items(), key=lambda kind: kind[0]):
        if verdict not in ALLOWED or os.environ.get('TELL_ALL'):
            number, case, said = cases[0]
            print(f'{verdict}: {what}: {len(cases)} files, such as {case.path} with transform{number}.txt')
            print(''.join(f'    {line}\n' for line in said[:3]), end='')
    print(', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items())), 'of', len(corpus.cases))
    return any(verdict not in ALLOWED for verdict in counts)


if __name__ == '__main__':
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1:]))
