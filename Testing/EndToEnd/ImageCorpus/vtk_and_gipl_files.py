"""Legacy VTK (structured points) and GIPL."""
import gzip
import struct

from nifti_files import LIMITS, pack
from truth import *

VTK_TYPES = {
    'int8': ('char', 'b'), 'uint8': ('unsigned_char', 'B'), 'int16': ('short', 'h'), 'uint16': ('unsigned_short', 'H'),
    'int32': ('int', 'i'), 'uint32': ('unsigned_int', 'I'), 'int64': ('long', 'q'), 'uint64': ('unsigned_long', 'Q'),
    'float32': ('float', 'f'), 'float64': ('double', 'd')
}


def vtk(corpus, kind, grid, values, type_name='int16', binary=True, lines=None, truth=None, end='\n',
        dataset='STRUCTURED_POINTS', attribute=None, version='3.0', **words):
    name, letter = VTK_TYPES[type_name]
    spacing = (grid.spacing + [1.0])[:3]
    origin = (grid.origin + [0.0])[:3]
    size = (grid.size + [1])[:3]
    numbers = lambda n: ' '.join(repr(x) for x in n)
    lines = lines or [
        f'DIMENSIONS {numbers(size)}', f'SPACING {numbers(spacing)}', f'ORIGIN {numbers(origin)}',
        f'POINT_DATA {math.prod(size)}'
    ]
    attribute = attribute or [f'SCALARS scalars {name} 1', 'LOOKUP_TABLE default']
    head = end.join([
        f'# vtk DataFile Version {version}', 'made by the corpus', 'BINARY' if binary else 'ASCII', f'DATASET {dataset}'
    ] + lines + attribute) + end
    data = pack(values, letter, True) if binary else ' '.join(repr(v) for v in values).encode() + b'\n'
    path = corpus.write(corpus.name('vtk ' + kind) + '.vtk', head, data)
    corpus.expect(path, grid, truth or values, 'VTK ' + kind, **words)


def all_vtk(corpus):
    for t, type_name in enumerate(VTK_TYPES):
        least, most = LIMITS.get(type_name, (-1000, 1000))
        for binary in (False, True):
            for low, high in ((max(least, -1000), min(most, 1000)), (least, most)):
                for version in (('1.0', '3.0', '5.1'), ('2.0', '4.2'))[t % 2]:
                    vtk(corpus, 'types', STRAIGHT, values_of(STRAIGHT.size, low, high), type_name, binary,
                        version=version)
    values = values_of(STRAIGHT.size)
    d, s, o, p = 'DIMENSIONS 6 5 4', 'SPACING 1.5 2 2.5', 'ORIGIN 10 -20 30', 'POINT_DATA 120'
    for binary in (False, True):
        for lines in ([d, o, s, p], [d, 'ASPECT_RATIO 1.5 2 2.5', o, p], [s, d, o, p], [o, s, d, p]):
            vtk(corpus, 'order of lines', STRAIGHT, values, binary=binary, lines=lines, refused='header|VTK')
        vtk(corpus, 'no spacing', Grid(STRAIGHT.size, [1.0] * 3, STRAIGHT.origin), values, binary=binary,
            lines=[d, o, p], always_told='spacing|SPACING', refused='spacing|SPACING|header')
        vtk(corpus, 'no origin', Grid(STRAIGHT.size, STRAIGHT.spacing, [0.0] * 3), values, binary=binary,
            lines=[d, s, p], refused='header|ORIGIN')
        vtk(corpus, 'line ends of Windows', STRAIGHT, values, binary=binary, end='\r\n', refused='header|VTK')
        vtk(corpus, 'no lookup table', STRAIGHT, values, binary=binary, attribute=['SCALARS scalars short'],
            refused='header|VTK')
        vtk(corpus, 'cell data', STRAIGHT, values, binary=binary, lines=['DIMENSIONS 7 6 5', s, o, 'CELL_DATA 120'],
            refused='')
        vtk(corpus, 'field data', STRAIGHT, values, binary=binary,
            attribute=['FIELD FieldData 1', 'scalars 1 120 short'], refused='')
        vtk(corpus, 'rectilinear grid', STRAIGHT, values, binary=binary, dataset='RECTILINEAR_GRID', refused='')
        for n, step in ((2, 'SPACING -1.5 2 2.5'), (3, 'SPACING 0 2 2.5'), (4, 'SPACING nan 2 2.5')):
            vtk(corpus, 'spacing that is none', STRAIGHT, values, binary=binary, lines=[d, step, o, p], refused='')
        vtk(corpus, 'direction of VTK 9', OBLIQUE, values, binary=binary,
            lines=[d, s, o, 'DIRECTION ' + ' '.join(repr(x) for row in columns(OBLIQUE.axes) for x in row),
                   p], refused='header|VTK|DIRECTION')
        for count in (2, 3):
            many = [values, [v + 1 for v in values], [-v for v in values]][:count]
            together = [c[i] for i in range(len(values)) for c in many]
            vtk(corpus, 'several scalars', STRAIGHT, together, binary=binary, truth=many, refused='component',
                attribute=[f'SCALARS scalars short {count}', 'LOOKUP_TABLE default'])
        vtk(corpus, 'vectors', STRAIGHT, together, binary=binary, truth=many, attribute=['VECTORS vectors short'])
        plane = values_of(PLANE.size)
        vtk(corpus, 'plane', PLANE, plane, binary=binary, refused='dimension')
        vtk(corpus, 'slice', Grid([6, 5, 1], [1.5, 2.0, 2.5], STRAIGHT.origin), plane, binary=binary,
            refused='dimension')


GIPL_TYPES = {
    'int8': (7, 'b'), 'uint8': (8, 'B'), 'int16': (15, 'h'), 'uint16': (16, 'H'), 'uint32': (31, 'I'),
    'int32': (32, 'i'), 'float32': (64, 'f'), 'float64': (65, 'd')
}


def gipl_head(size, spacing, origin, code, number=719555000):
    """256 bytes, the most significant ones first."""
    h = bytearray(256)
    struct.pack_into('>4H', h, 0, *(size + [1])[:4])
    struct.pack_into('>H', h, 8, code)
    struct.pack_into('>4f', h, 10, *(spacing + [1.0])[:4])
    struct.pack_into('>4d', h, 204, *(origin + [0.0])[:4])
    struct.pack_into('>f', h, 244, 0)
    struct.pack_into('>I', h, 252, number)
    return h


def all_gipl(corpus):
    values = values_of(STRAIGHT.size)
    for type_name, (code, letter) in GIPL_TYPES.items():
        least, most = LIMITS.get(type_name, (-1000, 1000))
        for end in ('.gipl', '.gipl.gz', '.GIPL'):
            for number in (719555000, 4026526128):
                for low, high in ((0, 100), (least, most)):
                    many = values_of(STRAIGHT.size, low, high)
                    data = bytes(gipl_head(STRAIGHT.size, STRAIGHT.spacing, STRAIGHT.origin, code, number)) + pack(
                        many, letter, True)
                    path = corpus.write(
                        corpus.name('gipl') + end,
                        gzip.compress(data, 1) if end.endswith('gz') else data)
                    corpus.expect(path, STRAIGHT, many, f'GIPL {type_name}', refused='[Tt]ype')
    head = gipl_head(STRAIGHT.size, STRAIGHT.spacing, STRAIGHT.origin, 15)
    struct.pack_into('>20f', head, 106, *[0.0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0] + [0.0] * 8)
    path = corpus.write(corpus.name('gipl matrix') + '.gipl', bytes(head), pack(values, 'h', True))
    corpus.expect(path, STRAIGHT, values, 'GIPL with a matrix')


def make(corpus):
    all_vtk(corpus)
    all_gipl(corpus)
