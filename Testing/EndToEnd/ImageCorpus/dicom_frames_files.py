"""Frames of one DICOM file: compressed ones, doses and segments."""
import struct

from dicom_bytes import dicom_file
from dicom_files import common, decimal, pixels, place_of, slices, text
from picture_files import jpeg
from truth import *


def compressed_frames(corpus):
    """As many frames as the header says, of its size, or else an error."""
    for number, columns, packed, words in ((4, 24, 4, {}), (4, 24, 3, 'frames'), (4, 24, 5, '5 compressed frames'),
                                           (1, 24, 2, '2 compressed frames'), (4, 16, 4, '24 x 16 pixels beside Columns 16')):
        for syntax in ('JPEG', 'RLE')[:1 + (columns == 24)]:  # run lengths do not tell their columns
            grid = Grid([columns, 16, number], [1.5, 2.0, 2.5], STRAIGHT.origin)
            means = [[20 + 40 * k + 5 * i for i in range(6)] for k in range(packed)]
            full = [[block[x // 8 + 3 * (y // 8)] for y in range(16) for x in range(24)] for block in means]
            data = [jpeg(block, 3) for block in means] if syntax == 'JPEG' else [bytes(v) for v in full]
            fields = {
                **common('MR frames'), **pixels(columns, 16, 8), 'NumberOfFrames': number, 'SharedFunctionalGroupsSequence': [{
                    'PlaneOrientationSequence': [{'ImageOrientationPatient': '1\\0\\0\\0\\1\\0'}],
                    'PixelMeasuresSequence': [{'PixelSpacing': '2\\1.5', 'SliceThickness': '2.5'}]
                }], 'PerFrameFunctionalGroupsSequence': [{
                    'PlanePositionSequence': [{'ImagePositionPatient': text(grid.point([0, 0, k]))}]
                } for k in range(number)]
            }
            path = corpus.write(corpus.name('dicom compressed') + '.dcm', dicom_file(fields, data, 1, syntax))
            corpus.expect(path, grid, sum(full, [])[:columns * 16 * number], f'DICOM frames in {syntax}', share=0.01,
                          refused=(words if syntax == 'JPEG' else 'frames|cannot be read') if words else None)


def doses_and_segments(corpus):
    values = values_of(STRAIGHT.size)
    for letter, bits in (('H', 16), ('I', 32)):
        for scaling in (1.0, 0.00123, 1e-6):
            for offsets in ('relative', 'absolute', 'downwards'):
                for syntax in ('explicit', 'implicit', 'big'):
                    z = [STRAIGHT.spacing[2] * k for k in range(4)]
                    grid, wanted = STRAIGHT, values
                    if offsets == 'downwards':
                        z = [-x for x in z]
                        grid, wanted = stored(STRAIGHT, values, (0, 1, 2), (False, False, True))
                    if offsets == 'absolute':  # C.8.8.3.2: z of the patient, for transverse planes
                        z = [STRAIGHT.origin[2] + x for x in z]
                    fields = {**common('dose'), **pixels(6, 5, bits), **place_of(grid, 0)}
                    fields.update({
                        'NumberOfFrames': 4, 'FrameIncrementPointer': [0x3004, 0x000c], 'DoseUnits': 'GY',
                        'GridFrameOffsetVector': text(z), 'DoseGridScaling': decimal(scaling)
                    })
                    raw = [struct.pack(f'<30{letter}', *wanted[30 * k:30 * k + 30]) for k in range(4)]
                    path = corpus.write(corpus.name('dicom dose') + '.dcm', dicom_file(fields, raw, bits // 8, syntax))
                    corpus.expect(path, STRAIGHT, [scaling * v for v in values], f'DICOM dose of {bits} bits {offsets}',
                                  refused='bits' if bits == 32 else None)
    fields = {**common('dose'), **pixels(6, 5), **place_of(STRAIGHT, 0), 'NumberOfFrames': 1, 'DoseUnits': 'GY'}
    path = corpus.write(corpus.name('dicom dose') + '.dcm', dicom_file(fields, [struct.pack('<30H', *values[:30])], 2))
    corpus.expect(path, Grid([6, 5, 1], STRAIGHT.spacing, STRAIGHT.origin), values[:30], 'DICOM dose without a scale',
                  refused='without Dose Grid Scaling')
    path = corpus.write(corpus.name('dicom report') + '.dcm', dicom_file({**common('dose'), 'Modality': 'SR'}, [b''], 2))
    corpus.expect(path, Grid([6, 5, 1], STRAIGHT.spacing, STRAIGHT.origin), values[:30], 'DICOM object without an image',
                  refused='"SR" that holds no image. Allowed')
    oblique, turned = stored(OBLIQUE, values, (1, 2, 0), (False, False, False))
    one_frame = Grid([6, 5, 1], STRAIGHT.spacing, STRAIGHT.origin)
    for name, grid, wanted in (('one frame', one_frame, values[:30]), ('an oblique place', oblique, turned)):
        planes = slices(grid, wanted)
        for has_offsets in (True, False):
            if len(planes) > 1 and not has_offsets:
                continue
            fields = {**common('dose'), **pixels(grid.size[0], grid.size[1]), **place_of(grid, 0),
                      'NumberOfFrames': len(planes), 'DoseUnits': 'GY', 'DoseGridScaling': '0.5'}
            if has_offsets:
                fields['FrameIncrementPointer'] = [0x3004, 0x000c]
                fields['GridFrameOffsetVector'] = text(grid.spacing[2] * k for k in range(len(planes)))
            path = corpus.write(corpus.name('dicom dose') + '.dcm',
                                dicom_file(fields, [struct.pack(f'<{len(p)}H', *p) for p in planes], 2))
            # GDCM ends its process where one frame has an offset, which only several need
            corpus.expect(path, grid, [0.5 * v for v in wanted], 'DICOM dose of ' + name,
                          refused='GDCM' if grid is one_frame and has_offsets else None)
    bits_of = values_of([8, 4, 4], 0, 1)
    grid = Grid([8, 4, 4], STRAIGHT.spacing, STRAIGHT.origin)
    for kind in ('BINARY', 'FRACTIONAL'):
        planes = slices(grid, bits_of)
        if kind == 'BINARY':  # C.8.20.2: one bit a voxel, the first one lowest
            raw = [bytes(sum(p[i + b] << b for b in range(8)) for i in range(0, len(p), 8)) for p in planes]
        else:
            raw = [bytes(255 * v for v in p) for p in planes]
        fields = {**common('segments'), **pixels(8, 4, 1 if kind == 'BINARY' else 8)}
        groups = [{'PlanePositionSequence': [{'ImagePositionPatient': text(grid.point([0, 0, k]))}]} for k in range(4)]
        fields.update({
            'NumberOfFrames': 4, 'SegmentationType': kind, 'MaximumFractionalValue': 255,
            'SharedFunctionalGroupsSequence': [{
                'PlaneOrientationSequence': [{'ImageOrientationPatient': '1\\0\\0\\0\\1\\0'}],
                'PixelMeasuresSequence': [{'PixelSpacing': '2\\1.5', 'SliceThickness': '2.5'}]
            }], 'PerFrameFunctionalGroupsSequence': groups
        })
        path = corpus.write(corpus.name('dicom segment') + '.dcm', dicom_file(fields, raw, 1))
        corpus.expect(path, grid, bits_of, f'DICOM {kind} segment')
        # an empty frame may be left out (C.8.20.2)
        fields.update({'NumberOfFrames': 3, 'PerFrameFunctionalGroupsSequence': groups[:2] + groups[3:]})
        path = corpus.write(corpus.name('dicom sparse segment') + '.dcm', dicom_file(fields, raw[:2] + raw[3:], 1))
        corpus.expect(path, grid, bits_of[:64] + [0] * 32 + bits_of[96:], f'DICOM {kind} segment with an empty frame',
                      always_told='1 of 4 frames of the segment are left out')


def make(corpus):
    compressed_frames(corpus)
    doses_and_segments(corpus)
