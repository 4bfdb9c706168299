"""MetaImage, as the documentation of MetaIO has it: TransformMatrix lists the directions of the axes one after the other, and
without other words lengths are in mm, in LPS."""
import zlib

from nifti_files import LIMITS, pack
from truth import *

TYPES = {
    'int8': ('MET_CHAR', 'b'), 'uint8': ('MET_UCHAR', 'B'), 'int16': ('MET_SHORT', 'h'), 'uint16': ('MET_USHORT', 'H'),
    'int32': ('MET_INT', 'i'), 'uint32': ('MET_UINT', 'I'), 'int64': ('MET_LONG_LONG', 'q'),
    'uint64': ('MET_ULONG_LONG', 'Q'), 'float32': ('MET_FLOAT', 'f'), 'float64': ('MET_DOUBLE', 'd')
}


def words(numbers):
    return ' '.join(repr(n) for n in numbers)


def fields_of(grid, element, big=False, unit=1.0):
    return {
        'ObjectType': 'Image', 'NDims': grid.dimension, 'BinaryData': 'True', 'BinaryDataByteOrderMSB': str(big),
        'CompressedData': 'False', 'TransformMatrix': words(x for axis in grid.axes for x in axis),
        'Offset': words(o / unit for o in grid.origin), 'ElementSpacing': words(s / unit for s in grid.spacing),
        'DimSize': words(grid.size), 'ElementType': element
    }


def one(corpus, kind, grid, values, type_name='int16', big=False, container='mha', unit=1.0, at=None, truth=None,
        expect=None, what=None, without=(), first=(), data=None, end='\n', **more):
    """more: further fields, or others in place of those. first: names of fields that come first."""
    element, letter = TYPES[type_name]
    fields = fields_of(grid, element, big, unit)
    fields.update(more)
    raw = pack(values, letter, big) if data is None else data
    name = corpus.name('meta ' + kind)
    if container.startswith('text'):
        fields['BinaryData'] = 'False'
        row = grid.size[0]
        raw = '\n'.join(words(values[i:i + row]) for i in range(0, len(values), row)).encode() + b'\n'
    if container in ('zmha', 'zraw', 'zmha without size'):
        raw = zlib.compress(raw, 1)
        fields['CompressedData'] = 'True'
        if 'without' not in container:
            fields['CompressedDataSize'] = len(raw)
    local = container in ('mha', 'zmha', 'zmha without size', 'text', 'local mhd')
    for key in without:
        fields.pop(key)
    order = [f for f in first if f in fields] + [f for f in fields if f not in first]
    fields['ElementDataFile'] = 'LOCAL' if local else name + ('.zraw' if container == 'zraw' else '.raw')
    head = ''.join(f'{key} = {fields[key]}{end}' for key in order + ['ElementDataFile'])
    if local:
        path = corpus.write(name + ('.mhd' if container == 'local mhd' else '.mha'), head, raw)
    else:
        corpus.write(fields['ElementDataFile'], raw)
        path = corpus.write(name + '.mhd', head)
    target, wanted = at or (grid, truth or values)
    if container.startswith('text'):  # forms of text that need not be read
        expect = {'refused': 'text', **(expect or {})}
    corpus.expect(path, target, wanted, 'MetaImage ' + (what or kind), **(expect or {}))


CONTAINERS = ('mha', 'zmha', 'mhd', 'zraw', 'text', 'text mhd', 'local mhd', 'zmha without size')


def orientations(corpus):
    for grid in (STRAIGHT, OBLIQUE):
        values = values_of(grid.size)
        for number, (order, flipped) in enumerate(every_orientation(3)):
            file_grid, file_values = stored(grid, values, order, flipped)
            one(corpus, 'orientation', file_grid, file_values, at=(grid, values), container=CONTAINERS[number % 8],
                big=number % 3 == 1)
    for grid in (PLANE, TURNED_PLANE):
        values = values_of(grid.size)
        for number, (order, flipped) in enumerate(every_orientation(2)):
            file_grid, file_values = stored(grid, values, order, flipped)
            one(corpus, 'plane', file_grid, file_values, at=(grid, values), container=CONTAINERS[number % 8])


def types(corpus):
    for type_name in TYPES:
        least, most = LIMITS.get(type_name, (-3000, 3000))
        for big in (False, True):
            for container in CONTAINERS[big::2] + CONTAINERS[2:5]:
                values = values_of(STRAIGHT.size, max(least, -3000), min(most, 3000), seed=2)
                one(corpus, f'{type_name} {container}', STRAIGHT, values, type_name, big, container, what=container)
            one(corpus, f'ends of {type_name}', STRAIGHT, values_of(STRAIGHT.size, least, most), type_name, big)
    values = values_of(STRAIGHT.size)
    for element, letter in (('MET_LONG', 'i'), ('MET_ULONG', 'I')):  # of 4 bytes in every file of MetaIO
        one(corpus, element, STRAIGHT, values, data=pack(values, letter, False), ElementType=element)
    for element in ('MET_STRING', 'MET_NONE', 'MET_CHAR_ARRAY', 'MET_OTHER'):
        one(corpus, element, STRAIGHT, values, ElementType=element, expect=dict(refused='ElementType'))


def meanings(corpus):
    """What numbers mean: slopes, units, orientation in words."""
    values = values_of(STRAIGHT.size)
    for container in ('mha', 'mhd', 'zmha', 'text'):
        for slope, offset in ((2, 0), (1, -1024), (0.5, 3), (-1, 100), (1, 0), (0, 0)):
            truth = [slope * v + offset for v in values]
            expect = dict(told='ElementToIntensity', refused='ElementToIntensity')
            one(corpus, f'intensity {slope} {offset}', STRAIGHT, values, container=container,
                truth=truth if slope else values, ElementToIntensityFunctionSlope=slope,
                ElementToIntensityFunctionOffset=offset, expect=expect)
        one(corpus, 'intensity offset alone', STRAIGHT, values, truth=[v - 1000 for v in values], container=container,
            ElementToIntensityFunctionOffset=-1000, expect=dict(told='ElementToIntensity',
                                                                refused='ElementToIntensity'))
        for name, unit in (('mm', 1.0), ('cm', 10.0), ('um', 0.001), ('?', 1.0), ('m', 1000.0)):
            for grid in (STRAIGHT, OBLIQUE):
                one(corpus, f'DistanceUnits {name}', grid, values, container=container, unit=unit, DistanceUnits=name,
                    expect=dict(told='DistanceUnits|unit', refused='DistanceUnits|unit'))
        for letters in ('RAI', 'LPS', 'RAS', 'LPI', 'ASL', '???'):  # of the axes, which TransformMatrix says, too
            one(corpus, 'AnatomicalOrientation', OBLIQUE, values, container=container, AnatomicalOrientation=letters)
            one(
                corpus, 'AnatomicalOrientation', STRAIGHT, values, container=container, without=['TransformMatrix'],
                AnatomicalOrientation=letters, expect=None if letters in ('RAI', '???') else dict(
                    told='AnatomicalOrientation', refused='AnatomicalOrientation'))
        one(corpus, 'CenterOfRotation 0', OBLIQUE, values, container=container, CenterOfRotation='0 0 0')
        one(corpus, 'CenterOfRotation beside the identity', STRAIGHT, values, container=container,
            CenterOfRotation='5 6 7')
        one(corpus, 'CenterOfRotation beside a rotation', OBLIQUE, values, container=container,
            CenterOfRotation='5 6 7', expect=dict(always_told='CenterOfRotation', refused='CenterOfRotation'))
        one(corpus, 'ElementMin', STRAIGHT, values, container=container, ElementMin=0, ElementMax=99)
        for modality in ('MET_MOD_CT', 'MET_MOD_MR', 'MET_MOD_OTHER'):
            one(corpus, 'Modality', STRAIGHT, values, container=container, Modality=modality)


def headers(corpus):
    values = values_of(STRAIGHT.size)
    spacing, offset = words(STRAIGHT.spacing), words(STRAIGHT.origin)
    matrix = words(x for axis in OBLIQUE.axes for x in axis)
    one(corpus, 'two byte orders', STRAIGHT, values, ElementByteOrderMSB='True', expect=dict(refused='ElementByteOrderMSB'))
    for container in ('mha', 'mhd', 'zmha', 'text'):
        for name in ('Offset', 'Position', 'Origin'):
            one(corpus, name, STRAIGHT, values, container=container, without=['Offset'] if name != 'Offset' else [],
                **{name: offset})
        for name in ('TransformMatrix', 'Rotation', 'Orientation'):
            one(corpus, name, OBLIQUE, values, container=container,
                without=['TransformMatrix'] if name != 'TransformMatrix' else [], **{name: matrix})
        one(corpus, 'ElementSize alone', STRAIGHT, values, container=container, without=['ElementSpacing'],
            ElementSize=spacing, expect=dict(told='ElementSize|spacing', refused='ElementSize|spacing'))
        one(corpus, 'ElementSize beside ElementSpacing', STRAIGHT, values, container=container, ElementSize='1 1 1')
        unit_grid = Grid(STRAIGHT.size, [1.0] * 3, STRAIGHT.origin)
        one(corpus, 'no spacing', unit_grid, values, container=container, without=['ElementSpacing'],
            expect=dict(always_told='spacing', refused='spacing'))
        at_zero = Grid(STRAIGHT.size, STRAIGHT.spacing, [0.0] * 3)
        one(corpus, 'no offset', at_zero, values, container=container, without=['Offset'])
        one(corpus, 'no matrix', STRAIGHT, values, container=container, without=['TransformMatrix'])
        one(corpus, 'no byte order', STRAIGHT, values, container=container, without=['BinaryDataByteOrderMSB'])
        one(corpus, 'no BinaryData', STRAIGHT, values, container=container,
            without=['BinaryData'] if container != 'text' else [])
        one(corpus, 'ElementByteOrderMSB', STRAIGHT, values, container=container, big=True,
            without=['BinaryDataByteOrderMSB'], ElementByteOrderMSB='True')
        one(corpus, 'comments', STRAIGHT, values, container=container, first=['ObjectType', 'Comment'],
            Comment='ElementSpacing = 9 9 9', Name='brain', ID=7, ParentID=-1, Color='1 0 0 1')
        one(corpus, 'line ends of Windows', STRAIGHT, values, container=container, end='\r\n')
        one(corpus, 'unknown fields', STRAIGHT, values, container=container, PatientName='x',
            Kinds='domain domain domain')
        for key, wrong, words_of_it in (
            ('ElementSpacing', '0 2 2.5', 'spacing 0 on axis 0: a voxel must have an extent. Allowed: spacings above zero; a flipped'),
            ('ElementSpacing', '-1.5 2 2.5', 'spacing -1.5 on axis 0: a voxel must have an extent'),
            ('ElementSpacing', 'nan 2 2.5', 'ElementSpacing = nan 2 2.5: nan is not a finite number'),
            ('ElementSpacing', '1.5 2', 'ElementSpacing'),
            ('Offset', '0 inf 0', 'Offset = 0 inf 0: inf is not a finite number'),
            ('TransformMatrix', '0 0 0 0 0 0 0 0 0', 'the matrix is singular. Allowed: axes that are not parallel'),
            ('TransformMatrix', '1 0 0 1 0 0 0 0 1', 'the matrix is singular'),
            ('TransformMatrix', '2 0 0 0 2 0 0 0 2', 'direction|axes|matrix'),
            ('DimSize', '6 5 0', 'size 0 on axis 2: the image has no voxels'),
            ('DimSize', '6 5 -4', 'NDims = 3, DimSize = 6 5 -4: not a size of an image'),
            ('ElementNumberOfChannels', '0', 'ElementNumberOfChannels = 0: not a number of components'),
            ('ElementNumberOfChannels', '-2', 'ElementNumberOfChannels = -2: not a number of components')):
            one(corpus, f'{key} {wrong}', STRAIGHT, values, container=container, expect=dict(refused=words_of_it), **{key: wrong})
    for tag in ('tRUE', 'true', '1', 'T'):
        one(corpus, 'words for true', STRAIGHT, values, big=True, BinaryData=tag, BinaryDataByteOrderMSB=tag)
    many = [values, [v + 1 for v in values], [-v for v in values]]
    for big in (False, True):
        for count in (2, 3):
            together = [c[i] for i in range(len(values)) for c in many[:count]]
            for container in ('mha', 'zmha', 'mhd', 'text'):
                one(corpus, 'components', STRAIGHT, together, big=big, container=container, at=(STRAIGHT, many[:count]),
                    ElementNumberOfChannels=count)
    # voxels in a file of their own, with bytes before them, in slices, and files that are named by a pattern
    raw = pack(values, 'h', False)
    for skip in (0, 10, -1):
        name = corpus.name('meta skip')
        corpus.write(name + '.raw', bytes(10 if skip else 0), raw)
        fields = dict(fields_of(STRAIGHT, 'MET_SHORT'), HeaderSize=skip, ElementDataFile=name + '.raw')
        path = corpus.write(name + '.mhd', ''.join(f'{k} = {v}\n' for k, v in fields.items()))
        corpus.expect(path, STRAIGHT, values, f'MetaImage HeaderSize {skip}')
    for container in ('mhd', 'mha'):
        one(corpus, 'bytes before the voxels', STRAIGHT, values, container=container, data=b'head' + raw,
            expect=dict(always_told='4 bytes lie behind', told='4 bytes lie behind'))
    for form in ('LIST', 'LIST 2', 'pattern', 'pattern and step', 'LIST in another order'):
        name = corpus.name('meta slices')
        order = [2, 0, 3, 1] if 'order' in form else [0, 1, 2, 3]
        step = 2 if 'step' in form else 1
        for k in range(4):
            corpus.write(f'{name}_{3 + step * k}.raw', raw[60 * order[k]:60 * order[k] + 60])
        target = (f'{name}_%d.raw 3 {3 + 3 * step} {step}' if 'pattern' in form else
                  form[:6].strip().replace('LIST i', 'LIST') + ''.join(f'\n{name}_{3 + order.index(k)}.raw'
                                                                       for k in range(4)) + '\n')
        fields = dict(fields_of(STRAIGHT, 'MET_SHORT'), ElementDataFile=target)
        path = corpus.write(name + '.mhd', ''.join(f'{k} = {v}\n' for k, v in fields.items()))
        corpus.expect(path, STRAIGHT, values, f'MetaImage {form}')
    four = Grid([6, 5, 4, 1], [1.5, 2.0, 2.5, 1.0], STRAIGHT.origin + [0.0])
    one(corpus, 'one volume on four axes', four, values, at=(STRAIGHT, values))
    for bad in ('nan', 'inf'):
        data = [float(v) for v in values]
        data[50] = float(bad)
        truth = [v if i != 50 else None for i, v in enumerate(data)]
        for type_name in ('float32', 'float64'):
            for container in ('mha', 'zmha', 'mhd'):
                one(corpus, bad, STRAIGHT, data, type_name, container=container, truth=truth)


def make(corpus):
    for part in (orientations, types, meanings, headers):
        part(corpus)
