"""NRRD, as http://teem.sourceforge.net/nrrd/format.html defines it (the numbers are those of its sections)."""
import gzip

from nifti_files import LIMITS, pack
from truth import *

TYPES = {
    'int8': 'b', 'uint8': 'B', 'int16': 'h', 'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q',
    'float32': 'f', 'float64': 'd'
}
NAMES = {
    'int8': ('signed char', 'int8', 'int8_t'), 'uint8': ('uchar', 'unsigned char', 'uint8', 'uint8_t'),
    'int16': ('short', 'short int', 'signed short', 'signed short int', 'int16',
              'int16_t'), 'uint16': ('ushort', 'unsigned short', 'unsigned short int', 'uint16', 'uint16_t'),
    'int32': ('int', 'signed int', 'int32', 'int32_t'), 'uint32': ('uint', 'unsigned int', 'uint32', 'uint32_t'),
    'int64': ('longlong', 'long long', 'long long int', 'signed long long', 'signed long long int', 'int64',
              'int64_t'), 'uint64': ('ulonglong', 'unsigned long long', 'unsigned long long int', 'uint64', 'uint64_t'),
    'float32': ('float', ), 'float64': ('double', )
}
# Signs from a space to LPS (section "space"). The others say nothing of left, back and head.
SPACES = {
    'right-anterior-superior': (-1, -1, 1), 'RAS': (-1, -1, 1), 'left-anterior-superior': (1, -1, 1), 'LAS': (1, -1, 1),
    'left-posterior-superior': (1, 1, 1), 'LPS': (1, 1, 1), 'Right-Anterior-Superior': (-1, -1, 1)
}
WITHOUT_BODY = ('scanner-xyz', '3D-right-handed', '3D-left-handed')


def vector(numbers):
    return '(' + ','.join(repr(float(n)) for n in numbers) + ')'


def vectors(lists):
    return ' '.join(l if isinstance(l, str) else vector(l) for l in lists)


def fields_of(grid, type_name='short', big=False, space='left-posterior-superior', signs=None, unit=1.0):
    signs = signs or SPACES.get(space, (1, 1, 1))
    turned = lambda v: [s * x / unit for s, x in zip(signs, v)]
    fields = {'type': type_name, 'dimension': grid.dimension}
    if space:
        fields['space'] = space
    else:
        fields['space dimension'] = grid.dimension
    fields.update({
        'sizes': ' '.join(map(str, grid.size)), 'space directions': vectors(turned(s) for s in grid.steps()),
        'kinds': ' '.join(['domain'] * grid.dimension), 'endian': 'big' if big else 'little', 'encoding': 'raw',
        'space origin': vector(turned(grid.origin))
    })
    return fields


def encoded(values, letter, big, encoding, row):
    raw = pack(values, letter, big)
    if encoding in ('ascii', 'text', 'txt'):
        return '\n'.join(' '.join(repr(v) for v in values[i:i + row])
                         for i in range(0, len(values), row)).encode() + b'\n'
    return {
        'raw': lambda: raw, 'gzip': lambda: gzip.compress(raw, 1), 'gz': lambda: gzip.compress(raw, 1),
        'hex': lambda: raw.hex().encode()
    }[encoding]()


def one(corpus, kind, grid, values, type_name='int16', named=None, big=False, encoding='raw', apart=False, at=None,
        truth=None, expect=None, what=None, without=(), space='left-posterior-superior', signs=None, unit=1.0,
        magic='NRRD0005', end='\n', data=None, before='', behind='', header_grid=None, **more):
    """more: further fields, or others in place of those, with _ for blanks."""
    fields = fields_of(header_grid or grid, named or NAMES[type_name][0], big, space, signs, unit)
    fields['encoding'] = encoding
    fields.update({key.replace('_', ' '): value for key, value in more.items()})
    for key in without:
        fields.pop(key, None)
    raw = encoded(values, TYPES[type_name], big, encoding, grid.size[0]) if data is None else data
    name = corpus.name('nrrd ' + kind)
    head = magic + end + before + ''.join(f'{key}: {value}{end}' for key, value in fields.items()) + behind
    if apart:
        corpus.write(name + '.raw', raw)
        path = corpus.write(name + '.nhdr', head + f'data file: {name}.raw{end}')
    else:
        path = corpus.write(name + '.nrrd', head + end, raw)
    target, wanted = at or (grid, truth or values)
    corpus.expect(path, target, wanted, 'NRRD ' + (what or kind), **(expect or {}))


ENCODINGS = ('raw', 'gzip', 'gz', 'ascii', 'text', 'txt', 'hex')


def spaces(corpus):
    for grid in (STRAIGHT, OBLIQUE):
        values = values_of(grid.size)
        for number, (order, flipped) in enumerate(every_orientation(3)):
            file_grid, file_values = stored(grid, values, order, flipped)
            for k, space in enumerate(('right-anterior-superior', 'left-anterior-superior', 'left-posterior-superior')):
                one(corpus, space, file_grid, file_values, at=(grid, values), space=space,
                    encoding=ENCODINGS[(number + k) % 7], big=number % 2 == 1, apart=number % 3 == 1)
        for space in SPACES:
            for apart in (False, True):
                for encoding in ('raw', 'gzip', 'ascii')[apart:]:
                    one(corpus, 'space ' + space, grid, values, space=space, encoding=encoding, apart=apart)
        for space in WITHOUT_BODY + (None, ):
            for apart in (False, True):
                one(corpus, f'space {space}', grid, values, space=space, apart=apart,
                    expect=dict(always_told='space', refused='space'))
        for space in ('scanner-xyz-time', 'right-anterior-superior-time', 'RAST', 'up-left-front'):
            one(corpus, f'space {space}', grid, values, space=space, expect=dict(refused='space|header'))
    for grid in (PLANE, TURNED_PLANE):
        values = values_of(grid.size)
        for order, flipped in every_orientation(2):
            file_grid, file_values = stored(grid, values, order, flipped)
            for encoding in ('raw', 'gzip', 'ascii'):
                one(corpus, 'plane', file_grid, file_values, at=(grid, values), space=None, encoding=encoding)


def types(corpus):
    for type_name, names in NAMES.items():
        least, most = LIMITS.get(type_name, (-3000, 3000))
        values = values_of(STRAIGHT.size, max(least, -3000), min(most, 3000))
        for named in names:
            for big in (False, True):
                one(corpus, f'type {named}', STRAIGHT, values, type_name, named, big, what='types')
        for encoding in ENCODINGS:
            for apart in (False, True):
                for big in [apart == (len(type_name) % 2 == 1)]:
                    one(corpus, f'{type_name} {encoding}', STRAIGHT, values, type_name, encoding=encoding, apart=apart,
                        big=big, what=encoding)
        one(corpus, f'ends of {type_name}', STRAIGHT, values_of(STRAIGHT.size, least, most), type_name)
    for wrong in ('block', 'half', 'long double'):
        one(corpus, f'type {wrong}', STRAIGHT, values_of(STRAIGHT.size), named=wrong, expect=dict(refused=''))
    for bad in ('nan', 'inf'):
        values = [float(v) for v in values_of(STRAIGHT.size)]
        values[50] = float(bad)
        truth = [v if i != 50 else None for i, v in enumerate(values)]
        for type_name in ('float32', 'float64'):
            for encoding in ('raw', 'gzip', 'ascii'):
                one(corpus, f'{bad} {encoding}', STRAIGHT, values, type_name, encoding=encoding, truth=truth,
                    expect=dict(refused='finite|number'))


def units_and_meanings(corpus):
    values = values_of(STRAIGHT.size)
    for grid in (STRAIGHT, OBLIQUE):
        for name, unit in (('mm', 1.0), ('cm', 10.0), ('m', 1000.0), ('um', 0.001), ('microns', 0.001), ('nm', 1e-6),
                           ('inches', 25.4)):
            for apart in (False, True):
                one(corpus, f'space units {name}', grid, values, unit=unit, apart=apart,
                    space_units=' '.join([f'"{name}"'] * 3), expect=dict(told='unit', refused='unit'))
    one(corpus, 'space units that differ', STRAIGHT, values, space_units='"mm" "mm" "um"',
        expect=dict(always_told='unit', refused='unit'))
    no_space = ['space', 'space directions', 'space origin']
    plain = Grid(STRAIGHT.size, STRAIGHT.spacing, [0.0] * 3)
    spacings = ' '.join(map(repr, STRAIGHT.spacing))
    for apart in (False, True):
        silent = dict(always_told='space',
                      refused='space')  # neither where the voxels lie nor how the axes run is known
        one(corpus, 'spacings', plain, values, without=no_space, apart=apart, spacings=spacings, expect=silent)
        for name, unit in (('mm', 1.0), ('um', 0.001)):
            per_unit = ' '.join(repr(s / unit) for s in STRAIGHT.spacing)
            one(corpus, f'units {name}', plain, values, without=no_space, apart=apart, spacings=per_unit,
                units=' '.join([f'"{name}"'] * 3), expect=dict(silent, told='unit|space'))
        one(corpus, 'no spacings', Grid(STRAIGHT.size, [1.0] * 3, [0.0] * 3), values, without=no_space, apart=apart,
            expect=dict(always_told='space|spacing', refused='space|spacing'))
        # "axis mins": at the centre of the first sample, or at the edge of its cell
        for centre, shift in (('node', 0.0), ('cell', 0.5)):
            mins = ' '.join(repr(o - shift * s) for o, s in zip(STRAIGHT.origin, STRAIGHT.spacing))
            one(corpus, f'axis mins {centre}', STRAIGHT, values, without=no_space, apart=apart, spacings=spacings,
                axis_mins=mins, centers=' '.join([centre] * 3), expect=dict(told='axis min|space',
                                                                            refused='axis min|space'))
            maxs = ' '.join(
                repr(o + (n - 1 + shift) * s) for o, s, n in zip(STRAIGHT.origin, STRAIGHT.spacing, STRAIGHT.size))
            one(corpus, f'axis mins and maxs {centre}', STRAIGHT, values, without=no_space, apart=apart, axis_mins=mins,
                axis_maxs=maxs, centers=' '.join([centre] * 3), expect=dict(told='axis m|space',
                                                                            refused='axis m|space'))
        for extra in (dict(thicknesses='9 9 9'), dict(centers='cell cell cell'), dict(labels='"x" "y" "z"'),
                      dict(content='brain'), dict(sample_units='"HU"'), dict(number='120'), dict(min='0', max='99')):
            one(corpus, 'field ' + next(iter(extra)), STRAIGHT, values, apart=apart, **extra)
        # old min and old max: the values are quantised, and stood for numbers from one to the other
        one(corpus, 'old min', STRAIGHT, values, 'uint8', apart=apart, truth=[-1000 + v * 3000 / 255 for v in values],
            old_min='-1000', old_max='2000', expect=dict(told='old m', refused='old m'))
        one(corpus, 'measurement frame', OBLIQUE, values, apart=apart, measurement_frame='(0,1,0) (-1,0,0) (0,0,1)')
        one(corpus, 'key and value', STRAIGHT, values, apart=apart, behind='space units:=um\nspacings:=7 7 7\n')
        one(corpus, 'comments', STRAIGHT, values, apart=apart, before='# space units: "um" "um" "um"\n# sizes: 1 1 1\n')
        one(corpus, 'line ends of Windows', STRAIGHT, values, apart=apart, end='\r\n')
        for magic in ('NRRD0001', 'NRRD0002', 'NRRD0003', 'NRRD0004'):
            one(corpus, magic, STRAIGHT, values, apart=apart, magic=magic, expect=dict(refused=''))
        one(corpus, 'no endian', STRAIGHT, values, apart=apart, without=['endian'],
            expect=dict(refused='endian|header'))
        one(corpus, 'no endian, 8 bits', STRAIGHT, values, 'uint8', apart=apart, without=['endian'])
        one(corpus, 'no space origin', Grid(STRAIGHT.size, STRAIGHT.spacing, [0.0] * 3), values, apart=apart,
            without=['space origin'], expect=dict(refused='origin'))
        for wrong in ('(1.5,0,0) (0,2,0) (0,0,0)', '(1.5,0,0) (0,2,0) (nan,0,2.5)', '(1.5,0,0) (0,2,0)',
                      '(1.5,0,0) (0,2,0) (0,2,0)'):
            one(corpus, f'directions {wrong}', STRAIGHT, values, apart=apart, space_directions=wrong,
                expect=dict(refused=''))
        steps = STRAIGHT.steps()
        shown = dict(apart=apart, expect=dict(refused='axes have a direction'))
        for wrong in (['none'] * 3, steps[:2] + ['none'], [[math.nan] * 3] + steps[1:]):
            one(corpus, 'directions of some axes', STRAIGHT, values, space_directions=vectors(wrong), **shown)
        one(corpus, 'directions none and no spacings', STRAIGHT, values, space_directions='none none none',
            spacings='nan nan nan', **shown)
        one(corpus, 'blanks in directions', STRAIGHT, values, apart=apart,
            space_directions=vectors(steps).replace(',', ', '))
        one(corpus, 'spacings nan beside directions', STRAIGHT, values, apart=apart, spacings='nan nan nan')
        for count, lengths in ((1.0, 'nan nan nan'), (2.5, '1.5 2 nan')):
            unnamed = Grid(STRAIGHT.size, [1.0] * 3 if count == 1 else [1.5, 2.0, 1.0], [0.0] * 3)
            one(corpus, 'spacings nan', unnamed, values, without=no_space, apart=apart, spacings=lengths,
                expect=dict(always_told='names no spacing', refused='spacing'))
        sheared = [[1.5, 0.0, 0.0], [0.4, 1.96, 0.0], [0.0, 0.0, 2.5]]
        grid = Grid(STRAIGHT.size, [1.5, math.hypot(0.4, 1.96), 2.5], STRAIGHT.origin,
                    [[1.0, 0, 0], [x / math.hypot(0.4, 1.96) for x in sheared[1]], [0, 0, 1.0]])
        one(corpus, 'sheared', grid, values, apart=apart, expect=dict(refused='perpendicular|shear'))


def axes_of_components(corpus):
    values = values_of(STRAIGHT.size)
    many = [values, [v + 1 for v in values], [-v for v in values]]
    steps = STRAIGHT.steps()
    for count, kind in ((3, 'vector'), (2, 'list'), (3, 'list'), (3, '3-color'), (3, 'RGB-color'),
                        (3, 'covariant-vector'), (2, 'complex'), (2, '2-vector'), (3, '3-vector'), (3, '3-gradient'),
                        (2, 'time'), (1, 'stub'), (1, 'scalar'), (1, 'vector')):
        for place in range(4):  # the axis of the components among those in space
            for encoding in (('raw', 'gzip'), ('raw', 'ascii'))[place % 2]:
                before = math.prod(STRAIGHT.size[:place])
                mixed = []
                for k in range(len(values) // before):
                    for c in range(count):
                        mixed += many[c][k * before:(k + 1) * before]
                with_one = lambda known, new: known[:place] + [new] + known[place:]
                grid = Grid(with_one(STRAIGHT.size, count), [1.0] * 4, [0.0] * 4)
                one(corpus, f'{kind} {count} on axis {place}', grid, mixed, at=(STRAIGHT, many[:count]),
                    encoding=encoding, header_grid=STRAIGHT, dimension=4, sizes=' '.join(map(str, grid.size)),
                    space_directions=vectors(with_one(steps, 'none')), kinds=' '.join(with_one(['domain'] * 3, kind)),
                    what=f'{kind} on axis {place}',
                    expect=dict(refused='dimension|component|volume|values a voxel|kind', told='colour'))


def data_files(corpus):
    values = values_of(STRAIGHT.size)
    raw = pack(values, 'h', False)
    plain = fields_of(STRAIGHT)

    def put(kind, files, line, head=(), fields=plain, expect=None):
        name = corpus.name('nrrd ' + kind)
        for end, data in files:
            corpus.write(name + end, data)
        lines = [f'{k}: {v}\n' for k, v in fields.items()] + [h + '\n' for h in head]
        path = corpus.write(name + '.nhdr', 'NRRD0005\n', ''.join(lines), line.replace('NAME', name) + '\n')
        corpus.expect(path, STRAIGHT, values, 'NRRD ' + kind, **(expect or {}))

    put('byte skip', [('.raw', bytes(17) + raw)], 'data file: NAME.raw', ['byte skip: 17'])
    put('byte skip -1', [('.raw', bytes(17) + raw)], 'data file: NAME.raw', ['byte skip: -1'])
    put('line skip', [('.raw', b'a\nb\n' + raw)], 'data file: NAME.raw', ['line skip: 2'])
    put('line and byte skip', [('.raw', b'a\nb\nxyz' + raw)], 'data file: NAME.raw', ['line skip: 2', 'byte skip: 3'])
    packed = dict(plain, encoding='gzip')
    put('byte skip in gzip', [('.raw.gz', gzip.compress(bytes(17) + raw))], 'data file: NAME.raw.gz', ['byte skip: 17'],
        packed, dict(refused='skip|header'))
    put('line skip before gzip', [('.raw.gz', b'a\n' + gzip.compress(raw))], 'datafile: NAME.raw.gz', ['line skip: 1'],
        packed)
    slices = [raw[60 * k:60 * k + 60] for k in range(4)]
    put('list', [(f'_{k}.raw', slices[k]) for k in range(4)],
        'data file: LIST\n' + '\n'.join(f'NAME_{k}.raw' for k in range(4)))
    put('list backwards', [(f'_{k}.raw', slices[3 - k]) for k in range(4)],
        'data file: LIST\n' + '\n'.join(f'NAME_{k}.raw' for k in (3, 2, 1, 0)))
    put('list of planes', [(f'_{k}.raw', slices[k]) for k in range(4)],
        'data file: LIST 2\n' + '\n'.join(f'NAME_{k}.raw' for k in range(4)))
    put('pattern', [(f'_{k:03}.raw', slices[k]) for k in range(4)], 'data file: NAME_%03d.raw 0 3 1')
    put('pattern backwards', [(f'_{k}.raw', slices[3 - k]) for k in range(4)], 'data file: NAME_%d.raw 3 0 -1')
    put('pattern with a step', [(f'_{2 * k}.raw', slices[k]) for k in range(4)], 'data file: NAME_%d.raw 0 6 2 2')
    half = [raw[:120], raw[120:]]
    put('list of volumes', [(f'_{k}.raw', half[k]) for k in range(2)],
        'data file: LIST 3\n' + '\n'.join(f'NAME_{k}.raw' for k in range(2)))


def make(corpus):
    for part in (spaces, types, units_and_meanings, axes_of_components, data_files):
        part(corpus)
