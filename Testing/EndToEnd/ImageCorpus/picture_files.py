"""PNG, BMP and JPEG. Their rows run from the top and their pixels from the left; they have no place."""
import struct
import zlib

from tiff_files import DEFAULT_TOLD, UNIT_PLANE, rows_of
from truth import *

SPACED = dict(told='spacing|dots|pHYs')


def chunk(name, data):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))


def packed_rows(rows, bits, samples, filters):
    """Rows of samples as PNG stores them, each behind its filter (RFC 2083, 6)."""
    out, before, step = b'', None, max(1, bits * samples // 8)
    for number, row in enumerate(rows):
        value = 0
        for v in row:
            value = value << bits | v
        padding = -len(row) * bits % 8
        raw = (value << padding).to_bytes((len(row) * bits + padding) // 8, 'big')
        above = before or bytes(len(raw))
        kind = filters[number % len(filters)]
        left = lambda i: raw[i - step] if i >= step else 0
        corner = lambda i: above[i - step] if i >= step else 0

        def paeth(i):
            a, b, c = left(i), above[i], corner(i)
            p = a + b - c
            return min((a, b, c), key=lambda x: (abs(p - x), (a, b, c).index(x)))

        guess = [lambda i: 0, left, lambda i: above[i], lambda i: (left(i) + above[i]) // 2, paeth][kind]
        out += bytes([kind]) + bytes((raw[i] - guess(i)) & 255 for i in range(len(raw)))
        before = raw
    return out


PASSES = (
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))  # x, y, steps


def png(values, width, bits, colour=0, interlaced=False, filters=(0, ), more=()):
    """values: samples of each pixel together; colour: 0 grey, 2 RGB, 3 palette, 4 grey and opacity, 6 RGB and opacity."""
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    rows = rows_of(values, width * samples)
    if interlaced:
        data = b''
        for x, y, dx, dy in PASSES:
            part = [[s for i in range(x, width, dx) for s in row[i * samples:(i + 1) * samples]] for row in rows[y::dy]]
            if part and part[0]:
                data += packed_rows(part, bits, samples, filters)
    else:
        data = packed_rows(rows, bits, samples, filters)
    head = struct.pack('>IIBBBBB', width, len(rows), bits, colour, 0, 0, int(interlaced))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + b''.join(chunk(*m) for m in more) +
            chunk(b'IDAT', zlib.compress(data, 1)) + chunk(b'IEND', b''))


def put(corpus, kind, data, end, grid, values, what=None, **words):
    path = corpus.write(corpus.name(kind) + end, data)
    corpus.expect(path, grid, values, what or kind, **words)


def all_png(corpus):
    for bits in (1, 2, 4, 8, 16):
        values = values_of(UNIT_PLANE.size, 0, 2**bits - 1)
        for interlaced in (False, True):
            for filters in ((0, ), (1, ), (2, ), (3, ), (4, ), (0, 1, 2, 3, 4)):
                put(corpus, f'png {bits} bits', png(values, 6, bits, 0, interlaced, filters), '.png', UNIT_PLANE,
                    values, told='bits', refused='bits', **DEFAULT_TOLD)
    for bits in (8, 16):
        values = values_of(UNIT_PLANE.size, 0, 2**bits - 1)
        for interlaced in (False, True):
            three, together = colours_of(values, 2**bits - 1)
            put(corpus, 'png RGB', png(together, 6, bits, 2, interlaced), '.png', UNIT_PLANE, three, told='colour')
            opaque = [x for i in range(30) for x in together[3 * i:3 * i + 3] + [2**bits - 1]]
            put(corpus, 'png RGB and opacity', png(opaque, 6, bits, 6, interlaced), '.png', UNIT_PLANE, three,
                told='colour', refused='colour')
            put(corpus, 'png grey and opacity',
                png([x for v in values for x in (v, 2**bits - 1)], 6, bits, 4, interlaced), '.png', UNIT_PLANE, values,
                told='colour|opacity', refused='colour|opacity', **DEFAULT_TOLD)
    for bits in (1, 2, 4, 8):
        values = values_of(UNIT_PLANE.size, 0, 2**bits - 1)
        palette = b''.join(bytes([255 - i] * 3) for i in range(2**bits))
        for interlaced in (False, True):
            put(corpus, 'png palette', png(values, 6, bits, 3, interlaced, more=[(b'PLTE', palette)]), '.png',
                UNIT_PLANE, [[255 - v for v in values]] * 3, told='colour|palette', refused='colour|palette')
    values = values_of(UNIT_PLANE.size, 0, 255)
    for x, y, unit in ((2000, 2000, 1), (1000, 500, 1), (1000000, 1000000, 1), (2835, 2835, 1), (2, 1, 0), (1, 1, 0)):
        grid = Grid([6, 5], [1000 / x, 1000 / y], [0.0] * 2) if unit else UNIT_PLANE
        put(corpus, 'png pHYs', png(values, 6, 8, more=[(b'pHYs', struct.pack('>IIB', x, y, unit))]), '.png', grid,
            values, what='png pHYs ' + 'in metres' * unit, **(SPACED if unit else DEFAULT_TOLD))
    for name, data in ((b'gAMA', struct.pack('>I', 45455)), (b'sBIT', b'\x08'), (b'tEXt', b'Title\0x'),
                       (b'tIME', bytes([7, 230, 1, 1, 1, 1,
                                        1])), (b'tRNS', b'\0\5'), (b'bKGD', b'\0\5'), (b'sRGB', b'\0')):
        put(corpus, f'png {name.decode()}', png(values, 6, 8, more=[(name, data)]), '.png', UNIT_PLANE, values,
            told='colour|opacity', refused='tRNS', **DEFAULT_TOLD)


def bmp(rows, bits, downwards=False, table=b'', metre=0, core=False):
    """rows: bytes of each row from the top."""
    width, height = rows[0][1], len(rows)
    padded = [r.ljust(-(-len(r) // 4) * 4, b'\0') for r, _ in (rows if downwards else rows[::-1])]
    info = struct.pack('<IiiHHIIiiII', 40, width, -height if downwards else height, 1, bits, 0, 0, metre, metre,
                       len(table) // 4, 0)
    at = 14 + len(info) + len(table)
    pixels = b''.join(padded)
    return b'BM' + struct.pack('<IHHI', at + len(pixels), 0, 0, at) + info + table + pixels


def all_bmp(corpus):
    values = values_of(UNIT_PLANE.size, 0, 255)
    rows = rows_of(values, 6)
    grey = b''.join(bytes([i, i, i, 0]) for i in range(256))
    turned = b''.join(bytes([255 - i] * 3 + [0]) for i in range(256))
    for downwards in (False, True):
        for metre in (0, 2000):
            words = SPACED if metre else DEFAULT_TOLD
            grid = Grid([6, 5], [0.5, 0.5], [0.0] * 2) if metre else UNIT_PLANE
            put(corpus, 'bmp grey', bmp([(bytes(r), 6) for r in rows], 8, downwards, grey, metre), '.bmp', grid,
                [values] * 3, **{'told': 'colour', **words}, refused='')
            put(corpus, 'bmp palette', bmp([(bytes(r), 6) for r in rows], 8, downwards, turned, metre), '.bmp', grid,
                [[255 - v for v in values]] * 3, told='colour|palette|spacing', refused='')
            three, _ = colours_of(values, 255)
            blue_first = [(bytes(c[6 * k + i] for i in range(6) for c in reversed(three)), 6) for k in range(5)]
            put(corpus, 'bmp RGB', bmp(blue_first, 24, downwards, b'', metre), '.bmp', grid, three,
                told='colour|spacing', refused='')
            put(corpus, 'bmp 32 bits',
                bmp([(bytes(x for v in r for x in (v, v, v, 255)), 6) for r in rows], 32, downwards, b'', metre),
                '.bmp', grid, [values] * 3, told='colour|spacing', refused='32 bits a pixel in BMP')
    for bits in (1, 4):
        few = values_of(UNIT_PLANE.size, 0, 2**bits - 1)
        table = b''.join(bytes([i * 255 // (2**bits - 1)] * 3 + [0]) for i in range(2**bits))
        packed = [(packed_rows([r], bits, 1, (0, ))[1:], 6) for r in rows_of(few, 6)]
        put(corpus, f'bmp {bits} bits', bmp(packed, bits, False, table), '.bmp', UNIT_PLANE,
            [[v * 255 // (2**bits - 1) for v in few]] * 3, told='colour', refused='')


# The tables of ISO/IEC 10918-1, K.3.1, for sizes of differences; the lengths of codes and what they stand for.
DC = (0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0), tuple(range(12))


def jpeg(blocks, across, segments=(), columns=None):
    """A baseline file whose blocks of 8 x 8 pixels are flat: only their means are coded (F.1.2). blocks: a list of
    means, or one for each of several components."""
    components = blocks if isinstance(blocks[0], list) else [blocks]
    codes, code, place = {}, 0, 0
    for length, count in enumerate(DC[0], 1):
        for _ in range(count):
            codes[DC[1][place]] = format(code, f'0{length}b')
            code, place = code + 1, place + 1
        code <<= 1
    bits, before, count = '', [0] * len(components), len(components)
    for place in range(count * len(components[0])):
        level = components[place % count][place // count] - 128  # its coefficient, by the quantiser of 8
        difference, before[place % count] = level - before[place % count], level
        size = abs(difference).bit_length()
        bits += codes[size]
        if size:
            bits += format(difference if difference > 0 else difference + 2**size - 1, f'0{size}b')
        bits += '0'  # the only code of the other table: nothing follows
    bits += '1' * (-len(bits) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, 'big').replace(b'\xff', b'\xff\0')
    segment = lambda marker, body: b'\xff' + bytes([marker]) + struct.pack('>H', len(body) + 2) + body
    height = len(components[0]) // across * 8
    each = lambda *rest: bytes([count]) + b''.join(bytes([c + 1, *rest]) for c in range(count))
    return (b'\xff\xd8' + b''.join(segment(*s) for s in segments) + segment(0xdb, bytes([0] + [8] * 64)) +
            segment(0xc0,
                    struct.pack('>BHH', 8, height, columns or across * 8) + each(0x11, 0)) +
            segment(0xc4,
                    bytes([0]) + bytes(DC[0]) + bytes(DC[1])) + segment(0xc4, bytes([0x10, 1] + [0] * 15 + [0])) +
            segment(0xda, each(0) + bytes([0, 63, 0])) + data + b'\xff\xd9')


def jfif(unit, x, y):
    return 0xe0, b'JFIF\0' + struct.pack('>BBBHHBB', 1, 1, unit, x, y, 0, 0)


def exif(orientation, more=()):
    entries = [struct.pack('>HHIHH', 0x112, 3, 1, orientation, 0)]
    return 0xe1, b'Exif\0\0' + b'MM\0*' + struct.pack('>IH', 8, len(entries)) + b''.join(entries) + bytes(4)


def all_jpeg(corpus):
    means = values_of([3, 2], 16, 240)
    spread = lambda blocks, across: [
        blocks[y // 8 * across + x // 8] for y in range(len(blocks) // across * 8) for x in range(across * 8)
    ]
    size = [24, 16]
    grid, values = Grid(size, [1.0] * 2, [0.0] * 2), spread(means, 3)
    put(corpus, 'jpeg without density', jpeg(means, 3), '.jpg', grid, values, share=0.01, **DEFAULT_TOLD)
    for unit, x, y, mm in ((1, 100, 100, 25.4), (2, 40, 40, 10.0), (1, 100, 50, 25.4), (1, 72, 72, 25.4),
                           (0, 1, 1, None), (0, 2, 1, None)):
        at = Grid(size, [mm / x, mm / y], [0.0] * 2) if mm else grid
        for end in ('.jpg', '.jpeg'):
            put(corpus, f'jpeg density in unit {unit}', jpeg(means, 3, [jfif(unit, x, y)]), end, at, values, share=0.01,
                **(SPACED if mm else DEFAULT_TOLD))
    inks = jpeg([means] * 4, 3, [(0xee, b'Adobe\0d\0\0\0\0\0')])
    put(corpus, 'jpeg of four inks', inks, '.jpg', grid, values, refused='CMYK')
    for orientation in range(1, 9):  # values are those of the upright picture
        rows = rows_of(means, 3)
        turned = {
            1: rows, 2: [r[::-1] for r in rows], 3: [r[::-1] for r in rows[::-1]], 4: rows[::-1], 5: columns(rows),
            6: columns(rows)[::-1], 7: [r[::-1] for r in columns(rows)[::-1]], 8: [r[::-1] for r in columns(rows)]
        }[orientation]
        data = jpeg([v for r in turned for v in r], len(turned[0]), [exif(orientation)])
        put(corpus, f'jpeg Orientation {orientation}', data, '.jpg', grid, values, share=0.01, told='[Oo]rientation',
            refused='[Oo]rientation')
        put(corpus, f'png Orientation {orientation}', png(values_of(UNIT_PLANE.size), 6, 8, more=[(b'eXIf', exif(orientation)[1][6:])]),
            '.png', UNIT_PLANE, values_of(UNIT_PLANE.size),
            always_told=f'its EXIF orientation, {orientation}, is not applied' if orientation > 1 else None)


def make(corpus):
    all_png(corpus)
    all_bmp(corpus)
    all_jpeg(corpus)
