"""Frames of one DICOM file: compressed ones, doses and segments; and those that are no volume, or lack something."""
import os
import struct

from dicom_bytes import dicom_file
from dicom_files import common, decimal, frames_file, pixels, place_of, slices, text
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


def frames_that_are_no_volume(corpus):
    values, no_values = values_of(STRAIGHT.size), [-1] * 120  # which no result has: an error is the only right answer
    at = lambda places: lambda k: STRAIGHT.point([0, 0, places[k]])
    turned = lambda k: {'PlaneOrientationSequence': {'ImageOrientationPatient': '0\\1\\0\\-1\\0\\0'}} if k == 1 else {}
    slope = lambda second: lambda k: {
        'PixelValueTransformationSequence': {'RescaleIntercept': '0', 'RescaleSlope': second if k == 1 else '1'}
    }
    segment = lambda k: {'SegmentIdentificationSequence': {'ReferencedSegmentNumber': 1 + k // 2}}
    for kind, changes, words in (
        ('frames at one place', dict(positions=at([0, 1, 1, 2])), 'two slices lie at the same place: .*frame 2 and .*frame 3'),
        ('frames with a gap', dict(positions=at([4, 1, 0, 2])),
         '1 slice.s. of the series are missing, whose slices are 2.5 mm apart: 1 between .*frame 4 and .*frame 1, which are 5 mm'),
        ('turned frames', dict(more=turned), 'frame 2 is a slice of another direction .Image Orientation. than .*frame 1'),
        ('frames without groups', dict(groups_kept=3), 'it has 4 frames, and functional groups for 3'),
        ('a slope with a comma', dict(more=slope('1,5')), 'frame 2: its rescale slope is "1,5". Allowed: a number that is not 0'),
        ('a slope of zero', dict(more=slope('0.00')), 'frame 2: its rescale slope is "0.00"'),
        ('several segments', dict(more=segment, sop='segments', letter='B'), 'its frames belong to several segments'),
    ):
        frames_file(corpus, kind, STRAIGHT, values, no_values, expect=dict(refused=words), **changes)
    folder = corpus.name('dicom frames of two files')
    for number, others in enumerate(([1, 3], [0, 2])):
        frames_file(corpus, '', STRAIGHT, values, drop=others, part_of=(folder, number))
    corpus.expect(os.path.join(corpus.folder, folder), STRAIGHT, values, 'DICOM frames of two files')

    raw = [struct.pack('<30H', *values[30 * k:30 * k + 30]) for k in range(4)]
    for offsets, words in (([7, 9.5, 12, 14.5], 'its Grid Frame Offset Vector begins with 7. Allowed: 0'),
                           ([0, 2.5, 5, 10], '1 slice.s. of the series are missing'),
                           (None, 'its 4 frames do not say where they lie')):
        fields = {
            **common('dose'), **pixels(6, 5), **place_of(STRAIGHT, 0), 'NumberOfFrames': 4, 'DoseGridScaling': '0.5',
            'GridFrameOffsetVector': offsets and text(offsets)
        }
        path = corpus.write(corpus.name('dicom dose') + '.dcm', dicom_file(fields, raw, 2))
        corpus.expect(path, STRAIGHT, no_values, 'DICOM dose of wrong offsets', refused=words)
    # C.8.4.8: frames of nuclear medicine lie in the order of their Slice Vector
    detector = [{'ImagePositionPatient': text(STRAIGHT.point([0, 0, 3])), 'ImageOrientationPatient': '1\\0\\0\\0\\1\\0'}]
    for order, words in (([1, 3, 2, 4], dict(always_told='they are placed by Spacing Between Slices')),
                         ([1, 2, 1, 2], dict(refused='two slices lie at the same place'))):
        fields = {
            **common('NM'), **pixels(6, 5), 'NumberOfFrames': 4, 'PixelSpacing': '2\\1.5', 'SpacingBetweenSlices': '-2.5',
            'DetectorInformationSequence': detector, 'SliceVector': order
        }
        path = corpus.write(corpus.name('dicom slice vector') + '.dcm', dicom_file(fields, [raw[4 - s] for s in order], 2))
        corpus.expect(path, STRAIGHT, no_values if 'refused' in words else values, 'DICOM Slice Vector', **words)


def frames_that_lack_something(corpus):
    """Pixel Data that are too short, and pixels without a size."""
    one, no_values = Grid([6, 5, 1], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]), [-1] * 30
    frames = lambda number, **more: {'NumberOfFrames': number, 'SpacingBetweenSlices': '1', **more}
    for kind, more, held, needed, of in (
        ('SC', pixels(6, 5), 58, 60, 1),
        ('NM', frames(2, **pixels(6, 5)), 60, 120, 2),
        ('dose', frames(2, DoseGridScaling='0.5', GridFrameOffsetVector='0\\1', **pixels(6, 5, 32)), 238, 240, 2),
        ('SC', pixels(6, 5, 8, photometric='RGB', samples=3), 88, 90, 1),
        ('SC', pixels(6, 5, 8, photometric='YBR_FULL_422', samples=3), 58, 60, 1),
        ('segments', frames(3, SegmentationType='BINARY', **pixels(6, 5, 1)), 10, 12, 3),
    ):
        path = corpus.write(corpus.name('dicom short') + '.dcm', dicom_file({**common(kind), **more}, [b'\1' * held], 1))
        corpus.expect(path, one, no_values, 'DICOM without all pixels',
                      refused=f'its Pixel Data has {held} bytes of the {needed} that {of} frame.s. of 6 x 5 pixels need')
    values = values_of(one.size)
    raw = struct.pack('<30h', *values)
    for kind, more, spacing, told in (
        ('SC', {}, [1, 1, 1], 'it has no Pixel Spacing; pixels of 1 mm are assumed'),
        ('CR', {'ImagerPixelSpacing': '0.2\\0.2'}, [0.2, 0.2, 1], 'no Pixel Spacing; the size of its pixels, 0.2 mm, is that of another'),
        ('SC', {'PixelSpacing': '2\\1.5', 'SliceThickness': '5'}, [1.5, 2, 5], None),
        ('SC', {'PixelSpacing': '2\\1.5', 'SliceThickness': '5', 'SpacingBetweenSlices': '1'}, [1.5, 2, 1], None),
    ):
        fields = {**common(kind), **pixels(6, 5, signed=True), **more}
        path = corpus.write(corpus.name('dicom size of pixels') + '.dcm', dicom_file(fields, [raw], 2))
        corpus.expect(path, Grid(one.size, spacing, one.origin), values, 'DICOM size of pixels', always_told=told)


def make(corpus):
    compressed_frames(corpus)
    doses_and_segments(corpus)
    frames_that_are_no_volume(corpus)
    frames_that_lack_something(corpus)
