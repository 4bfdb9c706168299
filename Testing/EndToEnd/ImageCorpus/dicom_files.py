"""DICOM: series of files, single files, and frames of one file, by what PS3.3 says that the attributes mean."""
import itertools
import os
import struct

from dicom_bytes import ROOT, SYNTAX, dicom_file
from truth import *

CLASS = {
    'CT': '1.2.840.10008.5.1.4.1.1.2', 'MR': '1.2.840.10008.5.1.4.1.1.4', 'PT': '1.2.840.10008.5.1.4.1.1.128',
    'CT frames': '1.2.840.10008.5.1.4.1.1.2.1', 'MR frames': '1.2.840.10008.5.1.4.1.1.4.1',
    'PT frames': '1.2.840.10008.5.1.4.1.1.130', 'dose': '1.2.840.10008.5.1.4.1.1.481.2',
    'segments': '1.2.840.10008.5.1.4.1.1.66.4', 'US frames': '1.2.840.10008.5.1.4.1.1.3.1',
    'NM': '1.2.840.10008.5.1.4.1.1.20', 'SC': '1.2.840.10008.5.1.4.1.1.7', 'CR': '1.2.840.10008.5.1.4.1.1.1',
    'XA': '1.2.840.10008.5.1.4.1.1.12.1', 'SC frames': '1.2.840.10008.5.1.4.1.1.7.2'
}


def text(numbers):
    """Decimal strings of at most 16 letters."""
    return '\\'.join(decimal(x) for x in numbers)


def decimal(x):
    for digits in range(16, 5, -1):
        if len(f'{x:.{digits}g}') <= 16:
            return f'{x:.{digits}g}'
    return str(x)


uid_numbers = itertools.count(1)


def new_uid():
    return f'{ROOT}.{next(uid_numbers)}'


def pixels(columns, rows, bits=16, stored_bits=None, signed=False, photometric='MONOCHROME2', samples=1):
    return {
        'SamplesPerPixel': samples, 'PhotometricInterpretation': photometric,
        'PlanarConfiguration': 0 if samples > 1 else None, 'Rows': rows, 'Columns': columns, 'BitsAllocated': bits,
        'BitsStored': stored_bits or bits, 'HighBit': (stored_bits or bits) - 1, 'PixelRepresentation': int(signed)
    }


def common(kind='CT', series=None, number=1):
    """What every file has. kind: a name of CLASS."""
    modality = {'dose': 'RTDOSE', 'segments': 'SEG', 'SC': 'OT', 'SC frames': 'OT'}.get(kind, kind.split()[0])
    return {
        'ImageType': 'ORIGINAL\\PRIMARY\\AXIAL', 'SOPClassUID': CLASS[kind], 'SOPInstanceUID': new_uid(),
        'Modality': modality, 'PatientName': 'Nobody', 'StudyInstanceUID': ROOT + '.9.1', 'SeriesInstanceUID': series
        or new_uid(), 'SeriesNumber': 1, 'InstanceNumber': number, 'FrameOfReferenceUID': ROOT + '.9.2'
    }


def place_of(grid, k):
    """Place of a slice: the orientation of its rows comes before that of its columns, and the spacing of its rows, too."""
    return {
        'ImagePositionPatient': text(grid.point([0, 0,
                                                 k])), 'ImageOrientationPatient': text(grid.axes[0] + grid.axes[1]),
        'PixelSpacing': text([grid.spacing[1], grid.spacing[0]]), 'SliceThickness': decimal(grid.spacing[2])
    }


def slices(grid, values):
    count = grid.size[0] * grid.size[1]
    return [values[k * count:(k + 1) * count] for k in range(grid.size[2])]


def series(corpus, kind, grid, values, truth=None, at=None, letter='h', bits=16, stored_bits=None, signed=None,
           syntax='explicit', modality='CT', order=None, expect=None, what=None, fields_of_slice=lambda k: {},
           only=None, photometric='MONOCHROME2'):
    """A folder with a file for each slice, whose names are in this order."""
    name, uid = corpus.name('dicom ' + kind), new_uid()
    signed = letter.islower() if signed is None else signed
    planes = slices(grid, values)
    for n, k in enumerate(order or range(len(planes))):
        if only is not None and k not in only:
            continue
        fields = common(modality, uid, k + 1)
        fields.update(pixels(grid.size[0], grid.size[1], bits, stored_bits, signed, photometric))
        fields.update(place_of(grid, k))
        fields.update(fields_of_slice(k))
        raw = struct.pack(f'<{len(planes[k])}{letter}', *planes[k])
        path = corpus.write(f'{name}/{n}.dcm', dicom_file(fields, [raw], bits // 8, syntax))
    target, wanted = at or (grid, truth or values)
    corpus.expect(os.path.dirname(path), target, wanted, 'DICOM ' + (what or kind), **(expect or {}))


def rescale(slope, intercept):
    return {'RescaleIntercept': decimal(intercept), 'RescaleSlope': decimal(slope)}


def places(corpus):
    for grid in (STRAIGHT, OBLIQUE):
        values = values_of(grid.size)
        for number, (order, flipped) in enumerate(every_orientation(3)):
            file_grid, file_values = stored(grid, values, order, flipped)
            n = file_grid.size[2]
            mixed = [
                list(range(n)),
                list(reversed(range(n))), [(2 * k + 1) % n if n % 2 else (k + 2) % n for k in range(n)]
            ][number % 3]
            for syntax in ('explicit', list(SYNTAX)[number % 5]):
                series(corpus, f'orientation {syntax}', file_grid, file_values, at=(grid, values), order=mixed,
                       syntax=syntax, modality=['CT', 'MR', 'PT'][number % 3], what='orientation')
    values = values_of(STRAIGHT.size)
    refused = lambda words: dict(refused=words)
    series(corpus, 'numbers against places', STRAIGHT, values, fields_of_slice=lambda k: {'InstanceNumber': 9 - k})
    series(corpus, 'same numbers', STRAIGHT, values, fields_of_slice=lambda k: {'InstanceNumber': 1})
    series(corpus, 'no numbers', STRAIGHT, values, fields_of_slice=lambda k: {'InstanceNumber': None})
    series(corpus, 'a missing slice', STRAIGHT, values, only=[0, 1, 3], expect=refused('missing|lack|gap|apart|slices'))
    series(corpus, 'two slices at one place', STRAIGHT, values,
           fields_of_slice=lambda k: {'ImagePositionPatient': text(STRAIGHT.point([0, 0, max(k, 1)]))},
           expect=refused('same place|one place|place'))
    series(corpus, 'thickness of another size', STRAIGHT, values, fields_of_slice=lambda k: {'SliceThickness': '9'})
    series(corpus, 'Spacing Between Slices of another size', STRAIGHT, values,
           fields_of_slice=lambda k: {'SpacingBetweenSlices': '9'})
    series(corpus, 'two frames of reference', STRAIGHT, values,
           fields_of_slice=lambda k: {'FrameOfReferenceUID': f'{ROOT}.9.{2 + k // 2}'},
           expect=dict(always_told='several frames of reference'))
    series(corpus, 'Slice Location of another place', STRAIGHT, values,
           fields_of_slice=lambda k: {'SliceLocation': str(-k)})
    # what tells volumes apart: a half of the slices of each
    later, last = lambda k: k // 2, lambda k: k // 3
    several = lambda name: dict(refused=rf'2 {name}: .*\d slices\), .*\d slices\)')
    for kind, fields, words in (
        ('echo times', lambda k: {'EchoTime': f'{5 + 5 * later(k)}'}, several('echo times')),
        ('an echo time of one slice', lambda k: {'EchoTime': f'{5 + 5 * last(k)}'}, several('echo times')),
        ('one echo time in two ways', lambda k: {'EchoTime': '4.9200' if later(k) else '4.92'}, {}),
        ('b-values', lambda k: {'DiffusionBValue': 1000.0 * (k % 2)}, several('b-values')),
        ('b-values that one slice lacks', lambda k: {'DiffusionBValue': None if last(k) else 5.0}, several('b-values')),
        ('temporal positions', lambda k: {'TemporalPositionIdentifier': 1 + later(k)}, several('temporal positions')),
        ('trigger times', lambda k: {'TriggerTime': f'{300 * later(k)}'}, dict(always_told='2 trigger times: 0 .2 slices')),
        ('trigger times of all slices', lambda k: {'TriggerTime': f'{300 * k}'}, {}),
        ('acquisition times', lambda k: {'AcquisitionTime': f'10{15 * later(k):02}00.5'},
         dict(always_told='2 acquisition times: 100000 .2 slices')),
    ):
        series(corpus, kind, STRAIGHT, values, modality='MR', fields_of_slice=fields, expect=words)
    for syntax in ('explicit', 'implicit', 'big'):
        for kind, more, words in (
            ('echo times', lambda k: {'MREchoSequence': {'EffectiveEchoTime': 5.0 + 5 * later(k)}}, several('echo times')),
            ('one echo time', lambda k: {'MREchoSequence': {'EffectiveEchoTime': 5.0}}, {}),
            ('b-values', lambda k: {'MRDiffusionSequence': {'DiffusionBValue': 1000.0 * later(k)}}, several('b-values')),
            ('times', lambda k: {'FrameContentSequence': {'TemporalPositionIndex': 1 + later(k)}},
             several('temporal positions')),
            ('trigger times', lambda k: {'CardiacSynchronizationSequence': {'NominalCardiacTriggerDelayTime': 3.0 * later(k)}},
             dict(always_told='2 trigger times')),
            ('acquisition times',
             lambda k: {'FrameContentSequence': {'FrameAcquisitionDateTime': f'2020010110{15 * later(k):02}00.5'}},
             dict(always_told='2 acquisition times')),
        ):
            frames_file(corpus, 'frames of ' + kind, STRAIGHT, values, sop='MR frames', syntax=syntax, more=more, expect=words)
    series(corpus, 'one slice turned', STRAIGHT, values,
           fields_of_slice=lambda k: {'ImageOrientationPatient': '0\\1\\0\\-1\\0\\0'
                                      if k == 2 else '1\\0\\0\\0\\1\\0'}, expect=refused('direction|orientation'))
    series(corpus, 'one slice of other pixels', STRAIGHT, values,
           fields_of_slice=lambda k: {'PixelSpacing': '2\\1.6' if k == 2 else '2\\1.5'}, expect=refused('[Ss]pacing'))
    series(corpus, 'no Pixel Spacing', Grid(STRAIGHT.size, [1.0, 1.0, 2.5], STRAIGHT.origin), values,
           fields_of_slice=lambda k: {'PixelSpacing': None}, expect=dict(always_told='[Ss]pacing',
                                                                         refused='[Ss]pacing'))
    series(corpus, 'Imager Pixel Spacing alone', STRAIGHT, values,
           fields_of_slice=lambda k: {'PixelSpacing': None, 'ImagerPixelSpacing': '2\\1.5'},
           expect=dict(told='[Ss]pacing', refused='[Ss]pacing'))
    series(corpus, 'no position', STRAIGHT, values, fields_of_slice=lambda k: {'ImagePositionPatient': None},
           expect=dict(told='place|position|Position', refused='place|position|Position'))
    series(corpus, 'no orientation', STRAIGHT, values, fields_of_slice=lambda k: {'ImageOrientationPatient': None},
           expect=dict(always_told='[Oo]rientation|direction|place', refused='[Oo]rientation|direction|place'))
    tilted = lambda k: {'ImagePositionPatient': text([10, -20 + 0.8 * k, 30 + 2.5 * k])}
    tilt = math.hypot(0.8, 2.5)
    series(
        corpus, 'gantry tilt',
        Grid(STRAIGHT.size, [1.5, 2.0, tilt], STRAIGHT.origin, [[1.0, 0, 0], [0, 1.0, 0], [0, 0.8 / tilt, 2.5 / tilt]]),
        values, fields_of_slice=tilted, expect=dict(always_told='the slices are shifted against each other .gantry tilt.'))
    series(corpus, 'uneven slices', STRAIGHT, values,
           fields_of_slice=lambda k: {'ImagePositionPatient': text([10, -20, [30, 32.5, 35.9, 37.5][k]])},
           expect=refused('place|apart|uneven|missing|slices'))
    damaged_folders(corpus, values)


def damaged_folders(corpus, values):
    """Slices that do not belong to the others, and files that are none."""
    no_values = [-1] * len(values)
    at = lambda *mm: lambda k: {'ImagePositionPatient': text([mm[0], -20, mm[1 + k]])}
    third = lambda **fields: lambda k: fields if k == 2 else {}
    gaps = '3 slice.s. of the series are missing, whose slices are 2.5 mm apart: 1 between .*n0/0.dcm and .*n0/1.dcm, which are 5 mm'
    for kind, fields, words in (
        ('gaps', at(10, 30, 35, 37.5, 45), gaps + ' apart; 2 between .*n0/2.dcm and .*n0/3.dcm, which are 7.5 mm apart'),
        ('a slice aside', third(ImagePositionPatient=text([15, -20, 35])), '2.dcm lies 5 mm beside the line'),
        ('a slice without a place', third(ImagePositionPatient=None), '2.dcm is a slice that does not say where it lies'),
    ):
        series(corpus, kind, STRAIGHT, values, no_values, fields_of_slice=fields, expect=dict(refused=words))
    series(corpus, 'a slice away from its place', Grid([6, 5, 3], [1.5, 2.0, 4.0], STRAIGHT.origin), values[:90],
           fields_of_slice=at(10, 30, 33, 38),
           expect=dict(always_told='not evenly spaced: one lies 1 mm from its place on the grid of 4 mm'))
    series(corpus, 'other files', STRAIGHT, values)
    folder = os.path.basename(corpus.cases[-1].path)
    for name, data in (('._0.dcm', b'\0\5\x16\7' + bytes(200)), ('readme.txt', b'no image')):
        corpus.write(f'{folder}/{name}', data)
    for length in (0, 100, 132, 139, 144, 250):
        series(corpus, 'a slice that is cut off', STRAIGHT, values, no_values, expect=dict(refused='3.dcm'))
        os.truncate(os.path.join(corpus.cases[-1].path, '3.dcm'), length)


def stored_numbers(corpus):
    for syntax in SYNTAX:
        for letter, bits, stored_bits in (('B', 8, 8), ('h', 16, 16), ('H', 16, 16), ('h', 16, 12), ('H', 16, 12),
                                          ('H', 16, 10), ('b', 8, 8)):
            signed = letter.islower()
            most = 2**(stored_bits - signed) - 1
            least = -most - 1 if signed else 0
            values = values_of(STRAIGHT.size, least, most)
            for slope, intercept in ((1, 0), (2, -1024), (0.5, 0), (0.001, 0.25), (-1, 10), (1000, 1e6)):
                truth = [slope * v + intercept for v in values]
                series(corpus, f'{letter}{stored_bits} {syntax}', STRAIGHT, values, truth, letter=letter, bits=bits,
                       stored_bits=stored_bits, syntax=syntax, fields_of_slice=lambda k: rescale(slope, intercept),
                       what=f'rescale {slope} {intercept}')
    values = values_of(STRAIGHT.size)
    count = 30
    for modality in ('PT', 'CT', 'MR'):
        slopes = [1, 1.5, 0.25, 3]
        series(corpus, f'slope of each slice {modality}', STRAIGHT, values,
               [slopes[i // count] * v for i, v in enumerate(values)], modality=modality,
               fields_of_slice=lambda k: rescale(slopes[k], 0))
        one_has = [2 if i // count == 1 else 1 for i in range(len(values))]
        series(corpus, f'slope of one slice {modality}', STRAIGHT, values, [s * v for s, v in zip(one_has, values)],
               modality=modality, fields_of_slice=lambda k: rescale(2, 0)
               if k == 1 else {}, expect=dict(refused='[Rr]escale|slope|Slope'))
    series(corpus, 'slope 0', STRAIGHT, values, fields_of_slice=lambda k: rescale(0, 5),
           expect=dict(always_told='[Ss]lope', refused='[Ss]lope'))
    for letter in 'hH':
        for syntax in ('explicit', 'RLE'):
            for photometric in ('MONOCHROME1', 'MONOCHROME2'):
                series(corpus, photometric, STRAIGHT, values, [2 * v - 100 for v in values], letter=letter,
                       stored_bits=12, syntax=syntax, photometric=photometric,
                       fields_of_slice=lambda k: rescale(2, -100))
    table = [v * v for v in range(121)]  # C.11.1: Modality LUT
    lut = lambda k: {
        'ModalityLUTSequence': [{'LUTDescriptor': [121, 0, 16], 'ModalityLUTType': 'US', 'LUTData': table}]
    }
    series(corpus, 'modality table', STRAIGHT, values, [v * v for v in values], letter='H', fields_of_slice=lut,
           expect=dict(told='LUT|table', refused='LUT|table'))
    voi = lambda k: {
        'WindowCenter': '50', 'WindowWidth': '10', 'VOILUTSequence': [{'LUTDescriptor': [121, 0, 16], 'LUTData': table}]
    }
    series(corpus, 'window and table of display', STRAIGHT, values, letter='H', fields_of_slice=voi)
    mapped = lambda k: {'RealWorldValueMappingSequence': [{'RealWorldValueIntercept': 100.0, 'RealWorldValueSlope': 0.5}]}
    series(corpus, 'real world values', STRAIGHT, values, fields_of_slice=mapped,
           expect=dict(always_told='Real World Value Mapping'))
    # bits above the stored ones belong to overlays or to nobody (PS3.5 8.1.1)
    values = values_of(STRAIGHT.size, 0, 4095)
    series(corpus, 'bits above the stored ones', STRAIGHT, [v | 0x7000 for v in values], values, letter='H',
           stored_bits=12, expect=dict(refused='bits'))
    overlay = lambda k: {
        'OverlayRows': 4, 'OverlayColumns': 8, 'OverlayType': 'G', 'OverlayOrigin': [1, 1], 'OverlayBitsAllocated': 16,
        'OverlayBitPosition': 15
    }
    grid = Grid([8, 4, 4], STRAIGHT.spacing, STRAIGHT.origin)
    marked = values_of(grid.size, 0, 4095)
    for syntax in ('explicit', 'implicit', 'RLE'):
        series(corpus, 'overlay in bit 15', grid, [v | (v & 1) << 15 for v in marked], marked, letter='H', stored_bits=12,
               fields_of_slice=overlay, syntax=syntax)
    negative = values_of(STRAIGHT.size, -2048, 2047)
    series(corpus, '12 bits without the sign above', STRAIGHT, [v & 0xfff for v in negative], negative, letter='H',
           signed=True, stored_bits=12)
    shifted = lambda k: {'HighBit': 15}
    series(corpus, 'stored bits on top', STRAIGHT, [v << 4 for v in values], values, letter='H', stored_bits=12,
           fields_of_slice=shifted, expect=dict(refused='bits|High'))


def single(corpus):
    """One file, one slice: a volume of one slice, whose third voxel size is the Slice Thickness."""
    flat = Grid([6, 5, 1], [1.5, 2.0, 3.0], STRAIGHT.origin)
    values = values_of(flat.size)
    raw = struct.pack(f'<{len(values)}h', *values)
    for modality in ('CT', 'MR', 'CR', 'SC'):
        for syntax in SYNTAX:
            fields = {**common(modality), **pixels(6, 5, signed=True), **place_of(flat, 0)}
            path = corpus.write(corpus.name('dicom single') + '.dcm', dicom_file(fields, [raw], 2, syntax))
            corpus.expect(path, flat, values, f'DICOM single {modality}')
    siemens = struct.pack('<64sI4s7I', b'NumberOfImagesInMosaic', 1, b'IS', 6, 6, 77, 2, 2, 77, 2) + b'4\0' + bytes(40)
    for sign in ({'ImageType': 'ORIGINAL\\PRIMARY\\M\\MOSAIC'},
                 {'ImagesInMosaicOwner': 'SIEMENS MR HEADER', 'ImagesInMosaic': 4},
                 {'SiemensHeaderOwner': 'SIEMENS CSA HEADER', 'SiemensHeader': b'SV10\4\3\2\1' + siemens}):
        fields = {**common('MR'), **pixels(6, 5, signed=True), **place_of(flat, 0), **sign}
        path = corpus.write(corpus.name('dicom mosaic') + '.dcm', dicom_file(fields, [raw], 2))
        corpus.expect(path, STRAIGHT, values_of(STRAIGHT.size), 'DICOM mosaic', refused='MOSAIC')
    for kind, more, words in (('Pixel Spacing with commas', {'PixelSpacing': '2,0\\1,5'}, dict(refused='Pixel Spacing is')),
                              ('Orientation askew', {'ImageOrientationPatient': '1\\0\\0\\0.5\\0.866\\0'},
                               dict(always_told='perpendicular', told='perpendicular'))):
        path = corpus.write(corpus.name('dicom ' + kind) + '.dcm',
                            dicom_file({**common('MR'), **pixels(6, 5, signed=True), **place_of(flat, 0), **more}, [raw], 2))
        corpus.expect(path, flat, values, 'DICOM ' + kind, **words)
    for more, words in (({'TotalPixelMatrixColumns': 12}, 'tiles'), ({'FrameIncrementPointer': [0x18, 0x1063]}, 'times')):
        fields = {**common('SC frames'), **pixels(6, 5, signed=True), 'NumberOfFrames': 4, 'SpacingBetweenSlices': '2', **more}
        path = corpus.write(corpus.name('dicom no slices') + '.dcm', dicom_file(fields, [raw] * 4, 2))
        corpus.expect(path, STRAIGHT, values * 4, 'DICOM frames that are ' + words, refused=words)
    none = {'SiemensHeaderOwner': 'SIEMENS CSA HEADER', 'SiemensHeader': b'SV10\4\3\2\1' + siemens.replace(b'4', b'\0')}
    fields = {**common('MR'), **pixels(6, 5, signed=True), **place_of(flat, 0), **none}
    path = corpus.write(corpus.name('dicom no mosaic') + '.dcm', dicom_file(fields, [raw], 2))
    corpus.expect(path, flat, values, 'DICOM header of Siemens without a mosaic')
    three, together = colours_of(values, 255)
    for photometric, data in (('RGB', bytes(together)), ('PALETTE COLOR', bytes(values))):
        fields = {
            **common('SC'), **pixels(6, 5, 8, photometric=photometric, samples=3 if photometric == 'RGB' else 1),
            **place_of(flat, 0)
        }
        if photometric != 'RGB':
            for colour in ('Red', 'Green', 'Blue'):
                fields[colour + 'PaletteColorLookupTableDescriptor'] = [256, 0, 16]
                fields[colour + 'PaletteColorLookupTableData'] = struct.pack('<256H',
                                                                             *[(255 - i) * 257 for i in range(256)])
        path = corpus.write(corpus.name('dicom colour') + '.dcm', dicom_file(fields, [data], 1))
        truth = three if photometric == 'RGB' else [[255 - v for v in values]] * 3
        corpus.expect(path, flat, truth, f'DICOM {photometric}', told='colour', refused='colour|PALETTE|palette')


def frames_file(corpus, kind, grid, values, truth=None, at=None, sop='CT frames', order=None, shared=False, expect=None,
                syntax='explicit', letter='h', positions=None, slope=lambda k: None, drop=(), shared_more=None,
                more=lambda k: {}, groups_kept=None, part_of=None):
    """
    An enhanced file: each frame has its place in functional groups (C.7.6.16), those that all share in one group.
    part_of: the folder and the number of a file of several, of which the caller expects what they are together.
    """
    planes = slices(grid, values)
    order = [k for k in (order or range(len(planes))) if k not in drop]
    byte_count = struct.calcsize(letter)
    uid = f'{ROOT}.9.3' if part_of else None
    fields = {**common(sop, uid), **pixels(grid.size[0], grid.size[1], 8 * byte_count, signed=letter.islower())}
    orientation = {'PlaneOrientationSequence': [{'ImageOrientationPatient': text(grid.axes[0] + grid.axes[1])}]}
    measures = {
        'PixelMeasuresSequence': [{
            'SliceThickness': decimal(grid.spacing[2]), 'PixelSpacing': text([grid.spacing[1], grid.spacing[0]])
        }]
    }
    groups = []
    for n, k in enumerate(order):
        at_frame = (positions or (lambda k: grid.point([0, 0, k])))(k)
        group = {
            'PlanePositionSequence': [{'ImagePositionPatient': text(at_frame)}],
            'FrameContentSequence': [{'StackID': '1', 'InStackPositionNumber': k + 1}]
        }
        if not shared:
            group.update(orientation)
            group.update(measures)
        for name, items in more(k).items():
            group[name] = [{**group.get(name, [{}])[0], **items}]
        if slope(k):
            group['PixelValueTransformationSequence'] = [{**rescale(*slope(k)), 'RescaleType': 'US'}]
        groups.append(group)
    fields['NumberOfFrames'] = len(order)
    fields['SharedFunctionalGroupsSequence'] = [{**(shared_more or {}), **(orientation | measures if shared else {})}]
    fields['PerFrameFunctionalGroupsSequence'] = groups[:groups_kept]
    raw = [struct.pack(f'<{len(planes[k])}{letter}', *planes[k]) for k in order]
    file = dicom_file(fields, raw, byte_count, syntax)
    if part_of:
        corpus.write('%s/%d.dcm' % part_of, file)
        return
    path = corpus.write(corpus.name('dicom ' + kind) + '.dcm', file)
    target, wanted = at or (grid, truth or values)
    corpus.expect(path, target, wanted, 'DICOM ' + kind, **(expect or {}))


def frames(corpus):
    for sop in ('CT frames', 'MR frames', 'PT frames'):
        for shared in (False, True):
            for grid in (STRAIGHT, OBLIQUE):
                values = values_of(grid.size)
                known = dict(sop=sop, shared=shared)
                for number, (order, flipped) in enumerate(every_orientation(3)):
                    if number % (3 if shared else 2):
                        continue
                    file_grid, file_values = stored(grid, values, order, flipped)
                    downwards = '' if is_right_handed(file_grid) else ' downwards'
                    frames_file(corpus, 'frames' + downwards, file_grid, file_values, at=(grid, values),
                                syntax=list(SYNTAX)[number % 5], **known)
                for order in ([3, 2, 1, 0], [2, 0, 3, 1], [0, 2, 1, 3]):
                    frames_file(corpus, 'frames in mixed order', grid, values, order=order, **known)
                factors = [1, 1.5, 0.25, 3]
                truth = [factors[i // 30] * v - 10 for i, v in enumerate(values)]
                frames_file(corpus, 'slope of each frame', grid, values, truth, slope=lambda k: (factors[k], -10),
                            **known)
                shared_slope = {'PixelValueTransformationSequence': [{**rescale(2, -10), 'RescaleType': 'US'}]}
                frames_file(corpus, 'slope in the shared group', grid, values, [2 * v - 10 for v in values],
                            shared_more=shared_slope, **known)
                frames_file(corpus, 'one slope of frames', grid, values, [2 * v - 10 for v in values], slope=lambda k:
                            (2, -10), **known)
                frames_file(corpus, 'a missing frame', grid, values, drop=[2],
                            expect=dict(refused='missing|lack|gap|apart|frame|slices'), **known)
                frames_file(corpus, 'two frames at each place', grid, values,
                            positions=lambda k: grid.point([0, 0, k // 2]), expect=dict(refused='place'), **known)
                frames_file(corpus, 'frames of uneven places', grid, values,
                            positions=lambda k: grid.point([0, 0, [0, 1, 2.4, 3][k]]),
                            expect=dict(refused='missing|apart|place|slices'), **known)
    values = values_of(STRAIGHT.size)
    one_frame = Grid([6, 5, 1], [1.5, 2.0, 3.0], STRAIGHT.origin)
    for sop in ('CT frames', 'MR frames'):
        for shared in (False, True):
            frames_file(corpus, 'one frame', one_frame, values[:30], sop=sop, shared=shared)
    # ultrasound, angiography and secondary captures: frames are times or anything
    for sop in ('US frames', 'XA', 'SC frames', 'NM'):
        for spaced in (False, True):
            fields = {**common(sop), **pixels(6, 5)}
            fields['NumberOfFrames'] = 4
            if spaced:
                fields.update(place_of(STRAIGHT, 0))
                fields['SpacingBetweenSlices'] = '2.5'
            raw = [struct.pack('<30H', *values[30 * k:30 * k + 30]) for k in range(4)]
            path = corpus.write(corpus.name('dicom frames of ' + sop) + '.dcm', dicom_file(fields, raw, 2))
            corpus.expect(path, STRAIGHT if spaced else Grid([6, 5, 4], [1.0] * 3, [0.0] * 3), values,
                          f'DICOM frames of {sop}' + ' with a place' * spaced, always_told='frame|[Ss]pacing|place',
                          refused='frame|place|[Ss]pacing')


    # frames that are several energies or times are no volume, whatever their spacing
    for vector in ('EnergyWindowVector', 'TimeSlotVector'):
        fields = {**common('NM'), **pixels(6, 5), **place_of(STRAIGHT, 0), 'NumberOfFrames': 4,
                  'SpacingBetweenSlices': '2.5', vector: [1, 1, 2, 2]}
        raw = [struct.pack('<30H', *values[30 * k:30 * k + 30]) for k in range(4)]
        path = corpus.write(corpus.name('dicom ' + vector) + '.dcm', dicom_file(fields, raw, 2))
        corpus.expect(path, STRAIGHT, [-1] * len(values), 'DICOM ' + vector, refused='frames are of several kinds')


def make(corpus):
    for part in (places, stored_numbers, single, frames):
        part(corpus)
