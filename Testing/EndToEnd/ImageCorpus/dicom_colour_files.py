"""What the header of a DICOM file says of colours (PS3.3 C.7.6.3.1.2), beside what its bytes are."""
import struct

from dicom_bytes import dicom_file
from dicom_files import common, pixels, place_of
from picture_files import jpeg
from truth import *


def ybr_of(red, green, blue):
    """Full range (PS3.3 C.7.6.3.1.2)."""
    return [
        round(0.299 * red + 0.587 * green + 0.114 * blue),
        round(128 - 0.168736 * red - 0.331264 * green + 0.5 * blue),
        round(128 + 0.5 * red - 0.418688 * green - 0.081312 * blue)
    ]


FLAT_JPEG_2000 = bytes.fromhex(  # 6 x 5 pixels of (200, 50, 100), by its transform of red, green and blue
    'ff4fff51002f000000000006000000050000000000000000000000060000000500000000000000000003070101070101070101ff52000c'
    '00000001010004040001ff5c00044040ff90000a0000000000410001ff93c3e7141150536c663c0184847fc7d41a14005b78f4e3000030'
    '8d61f63fdf809814005c246f400184738ff1f42982423982c611ffd9')


def make(corpus):

    def put(photometric, data, truth, syntax='explicit', columns=6, rows=5, bits=8, samples=3, **words):
        grid = Grid([columns, rows, 1], [1.5, 2.0, 3.0], STRAIGHT.origin)
        fields = {**common('SC'), **pixels(columns, rows, bits, photometric=photometric, samples=samples), **place_of(grid, 0)}
        path = corpus.write(corpus.name('dicom colour') + '.dcm', dicom_file(fields, [data], bits // 8, syntax))
        corpus.expect(path, grid, truth, f'DICOM {photometric} in {syntax}', share=0.02, **words)

    pairs = [60 + 9 * (i // 2) for i in range(30)]  # pixels of a pair have one colour
    three = [pairs, [255 - v for v in pairs], [v // 2 for v in pairs]]
    pixel = list(zip(*three))
    ybr = [ybr_of(*p) for p in pixel]
    plain, full = bytes(sum(map(list, pixel), [])), bytes(sum(ybr, []))
    half = bytes(sum(([a[0], b[0], a[1], a[2]] for a, b in zip(ybr[::2], ybr[1::2])), []))
    put('YBR_FULL', full, three)
    put('YBR_FULL_422', half, three)
    put('YBR_FULL_422', full, three)  # the name is wrong, and the length tells it
    for name in ('YBR_PARTIAL_422', 'YBR_PARTIAL_420', 'YBR_ICT', 'YBR_RCT', 'HSV'):
        put(name, half if 'PARTIAL' in name else full, three, refused=name)
    put('RGB', bytes(pairs), three, samples=1, refused='1 sample.*RGB')
    put('MONOCHROME2', plain, three, refused='3 sample.*MONOCHROME2')
    put('YBR_FULL', bytes(2 * len(full)), three, bits=16, refused='more than 8 bits')
    blocks = [channel[::2][:6] for channel in three]
    ybr_blocks = [list(c) for c in zip(*[ybr_of(*p) for p in zip(*blocks)])]
    spread = [[b[x // 8 + 3 * (y // 8)] for y in range(16) for x in range(24)] for b in blocks]
    adobe = lambda transform: [(0xee, b'Adobe\0d\0\0\0\0' + bytes([transform]))]
    for name in ('RGB', 'YBR_FULL_422', 'YBR_ICT'):
        for mark in ([(0xe0, b'JFIF\0\1\1\0\0\1\0\1\0\0')], adobe(1)):
            put(name, jpeg(ybr_blocks, 3, mark), spread, 'JPEG', 24, 16)
        put(name, jpeg(blocks, 3, adobe(0)), spread, 'JPEG', 24, 16)
    put('RGB', jpeg(blocks, 3), spread, 'JPEG', 24, 16)
    put('YBR_FULL_422', jpeg(ybr_blocks, 3), spread, 'JPEG', 24, 16)
    put('YBR_RCT', jpeg(blocks, 3), spread, 'JPEG', 24, 16, refused='YBR_RCT')
    put('YBR_PARTIAL_422', jpeg(ybr_blocks, 3), spread, 'JPEG', 24, 16, refused='YBR_PARTIAL_422')
    flat = [[200] * 30, [50] * 30, [100] * 30]
    for name in ('RGB', 'YBR_RCT', 'YBR_ICT', 'YBR_FULL'):
        put(name, FLAT_JPEG_2000, flat, 'JPEG 2000', **(dict(refused=name) if name == 'YBR_FULL' else {}))
    for columns, rows in ((10, 3), (5, 6), (6, 10)):
        put('YBR_RCT', FLAT_JPEG_2000, flat, 'JPEG 2000', columns, rows, refused='6 x 5 pixels beside Columns')
    signed = FLAT_JPEG_2000[:42] + bytes([FLAT_JPEG_2000[42] | 0x80]) + FLAT_JPEG_2000[43:]
    put('YBR_RCT', signed, flat, 'JPEG 2000', refused='signed numbers beside Pixel Representation 0')
    put('RGB', struct.pack('<90H', *(257 * v for v in plain)), [[257 * v for v in c] for c in three], 'RLE', bits=16,
        refused='RLE')
    put('YBR_RCT', FLAT_JPEG_2000, flat, 'HTJ2K', refused='HTJ2K.*201.*Allowed')
