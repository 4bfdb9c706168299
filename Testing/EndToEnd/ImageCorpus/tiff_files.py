"""TIFF 6.0 and BigTIFF, with the texts of ImageJ and OME in which microscopes write voxel sizes, channels and times."""
import struct
import zlib
from fractions import Fraction

from truth import *

SAMPLES = {
    'uint8': (8, 1, 'B'), 'int8': (8, 2, 'b'), 'uint16': (16, 1, 'H'), 'int16': (16, 2, 'h'), 'uint32': (32, 1, 'I'),
    'int32': (32, 2, 'i'), 'float32': (32, 3, 'f'), 'float64': (64, 3, 'd'), 'uint64': (64, 1, 'Q'),
    'float16': (16, 3, 'e')
}
COMPRESSION = {'none': 1, 'lzw': 5, 'deflate': 8, 'packbits': 32773, 'old deflate': 32946}


def lzw(data):
    """Codes of 9 bits, with a clear code before the table would need more (section 13)."""
    codes, bits, count, out = [], 0, 0, bytearray()
    for i in range(0, len(data), 200):
        codes += [256] + list(data[i:i + 200])
    for code in codes + [257]:
        bits, count = bits << 9 | code, count + 9
        while count >= 8:
            count -= 8
            out.append(bits >> count & 255)
    if count:
        out.append(bits << (8 - count) & 255)
    return bytes(out)


def packbits(data, row_bytes):
    """Each row by itself (section 9), as literal bytes."""
    return b''.join(
        bytes([len(data[i:i + row_bytes]) - 1]) + data[i:i + row_bytes] for i in range(0, len(data), row_bytes))


PACKERS = {
    'none': lambda data, _: data, 'lzw': lambda data, _: lzw(data), 'deflate': lambda data, _: zlib.compress(data, 1),
    'old deflate': lambda data, _: zlib.compress(data, 1), 'packbits': packbits
}


def rows_of(values, width):
    return [values[i:i + width] for i in range(0, len(values), width)]


def differences(row, samples, bits):
    """Horizontal differencing (section 14)."""
    return row[:samples] + [(row[i] - row[i - samples]) % 2**bits for i in range(samples, len(row))]


def packed(row, bits, letter, e, predictor, samples):
    if predictor == 2:
        row = differences([v % 2**bits for v in row], samples, bits)
        letter = letter.upper()
    if bits >= 8 and bits != 12:
        return struct.pack(f'{e}{len(row)}{letter}', *row)
    number, count = 0, len(row) * bits
    for v in row:
        number = number << bits | v
    padding = -count % 8
    return (number << padding).to_bytes((count + padding) // 8, 'big')


def picture(values, width, type_name='uint8', bits=None, samples=1, compression='none', predictor=1, tile=None,
            planar=False, rows_per_strip=2, e='<'):
    """Blocks of a picture and the tags that say how they are stored. values: with the samples of a pixel together."""
    depth, form, letter = SAMPLES[type_name]
    depth = bits or depth
    height = len(values) // (width * samples)
    planes = [values[c::samples] for c in range(samples)] if planar else [values]
    s = 1 if planar else samples
    blocks = []
    for plane in planes:
        rows = rows_of(plane, width * s)
        if tile:
            for top in range(0, height, tile):
                for left in range(0, width, tile):
                    part = [(r[left * s:(left + tile) * s] + [0] * (tile * s))[:tile * s] for r in rows[top:top + tile]]
                    part += [[0] * (tile * s)] * (tile - len(part))
                    blocks.append(b''.join(packed(r, depth, letter, e, predictor, s) for r in part))
        else:
            for top in range(0, height, rows_per_strip):
                blocks.append(b''.join(
                    packed(r, depth, letter, e, predictor, s) for r in rows[top:top + rows_per_strip]))
    tags = {
        256: ('H', [width]), 257: ('H', [height]), 258: ('H', [depth] * samples),
        259: ('H', [COMPRESSION[compression]]), 262: ('H', [1]), 277: ('H', [samples]),
        284: ('H', [2 if planar else 1]), 339: ('H', [form] * samples)
    }
    if predictor != 1:
        tags[317] = ('H', [predictor])
    if tile:
        tags.update({322: ('H', [tile]), 323: ('H', [tile])})
    else:
        tags[278] = ('H', [rows_per_strip])
    row_bytes = -(-(tile or width) * (1 if planar else samples) * depth // 8)
    return [PACKERS[compression](b, row_bytes) for b in blocks], tags


def rational(x):
    return list(Fraction(x).limit_denominator(100000).as_integer_ratio())


def tiff(pictures, e='<', big=False):
    """pictures: (blocks, tags) of each page; tags: {number: (letter of the type, values)}, R for rationals."""
    order = b'II' if e == '<' else b'MM'
    out = bytearray(order + (struct.pack(e + 'HHHQ', 43, 8, 0, 0) if big else struct.pack(e + 'HI', 42, 0)))
    pointer = 8 if big else 4
    word, room = ('Q', 8) if big else ('I', 4)
    for blocks, tags in pictures:
        tags = dict(tags)
        places = []
        for block in blocks:
            places.append(len(out))
            out += block + b'\0' * (len(block) % 2)
        where, how_long = (324, 325) if 322 in tags else (273, 279)
        tags[where], tags[how_long] = (word, places), ('I', [len(b) for b in blocks])
        entries = b''
        for tag in sorted(tags):
            letter, values = tags[tag]
            data = values if isinstance(values, bytes) else struct.pack(
                e + ('I' if letter == 'R' else letter) * len(values), *values)
            count = len(data) if isinstance(values, bytes) else len(values) // (2 if letter == 'R' else 1)
            code = {'H': 3, 'I': 4, 'Q': 16, 'R': 5, 's': 2}[letter]
            if len(data) > room:
                at = len(out)
                out += data + b'\0' * (len(data) % 2)
                data = struct.pack(e + word, at)
            entries += struct.pack(e + 'HH' + word, tag, code, count) + data.ljust(room, b'\0')
        struct.pack_into(e + word, out, pointer, len(out))
        out += struct.pack(e + ('Q' if big else 'H'), len(tags)) + entries
        pointer = len(out)
        out += bytes(room)
    return bytes(out)


def description(text):
    return {270: ('s', text.encode() + b'\0')}


def resolution(x, y, unit):
    """Pixels for each unit: 1 none, 2 inch, 3 cm."""
    return {282: ('R', rational(x)), 283: ('R', rational(y)), 296: ('H', [unit])}


def put(corpus, kind, pages, grid, values, e='<', big=False, extension='.tif', what=None, **words):
    path = corpus.write(corpus.name('tiff ' + kind) + extension, tiff(pages, e, big))
    corpus.expect(path, grid, values, 'TIFF ' + (what or kind), **words)


UNIT_STACK = Grid([6, 5, 4], [1.0] * 3, [0.0] * 3)
UNIT_PLANE = Grid([6, 5], [1.0] * 2, [0.0] * 2)
DEFAULT_TOLD = dict(always_told='spacing')


def storage(corpus):
    for dimension, grid in ((2, UNIT_PLANE), (3, UNIT_STACK)):
        for type_name, (bits, form, letter) in SAMPLES.items():
            least, most = {1: (0, 2**bits - 1), 2: (-2**(bits - 1), 2**(bits - 1) - 1), 3: (-1000, 1000)}[form]
            values = values_of(grid.size, least, most)
            for n, compression in enumerate(COMPRESSION):
                for e in '<>':
                    for predictor in (1, 2)[n % 2 if e == '>' else 0:]:
                        if predictor == 2 and (form == 3 or compression in ('none', 'packbits')):
                            continue
                        for tile in (None, 16):
                            if dimension == 2 and compression in ('packbits', 'old deflate'):
                                continue
                            pages = [
                                picture(v, 6, type_name, compression=compression, predictor=predictor, tile=tile, e=e)
                                for v in rows_of(values, 30)
                            ]
                            put(corpus, f'{type_name} {compression}', pages, grid, values, e,
                                what=f'{type_name}' + ' in tiles' * bool(tile), refused='TIFF|spacing', **DEFAULT_TOLD)
        for bits in (1, 2, 4, 12):
            values = values_of(grid.size, 0, 2**bits - 1)
            for e in '<>':
                pages = [
                    picture(v, 6, 'uint16' if bits == 12 else 'uint8', bits=bits, e=e) for v in rows_of(values, 30)
                ]
                put(corpus, f'{bits} bits', pages, grid, values, e, told='bits a sample', refused='bits|TIFF', **DEFAULT_TOLD)
        values = values_of(grid.size)
        for big in (False, True):
            for e in '<>':
                for rows in (1, 2, 5, 100):
                    pages = [picture(v, 6, 'uint16', rows_per_strip=rows, e=e) for v in rows_of(values, 30)]
                    put(corpus, 'BigTIFF' if big else 'strips', pages, grid, values, e, big,
                        extension=['.tif', '.tiff'][rows % 2], **DEFAULT_TOLD)
    wide = Grid([20, 18], [1.0] * 2, [0.0] * 2)
    for type_name in ('uint8', 'int16'):
        values = values_of(wide.size)
        put(corpus, 'four tiles', [picture(values, 20, type_name, tile=16)], wide, values, **DEFAULT_TOLD)
    values = values_of(UNIT_STACK.size)
    small = picture([1, 2, 3, 4, 5, 6], 3)
    small[1][254] = ('I', [1])
    pages = []
    for v in rows_of(values, 30):
        pages += [picture(v, 6), small]
    put(corpus, 'small copies beside each page', pages, UNIT_STACK, values, refused='page|size|slices', **DEFAULT_TOLD)
    other = [picture(v, 6) for v in rows_of(values, 30)[:3]] + [picture(values[90:], 5)]
    put(corpus, 'pages of other sizes', other, UNIT_STACK, values, refused='')
    other = [picture(v, 6) for v in rows_of(values, 30)[:3]] + [picture(values[90:], 6, 'uint16')]
    put(corpus, 'pages of other types', other, UNIT_STACK, values, refused='', **DEFAULT_TOLD)


def meanings(corpus):
    """What the numbers of a pixel mean, and where row and column 0 lie."""
    values = values_of(UNIT_PLANE.size)
    for type_name in ('uint8', 'uint16'):
        most = 255 if type_name == 'uint8' else 65535
        for tile in (None, 16):
            blocks, tags = picture(values, 6, type_name, tile=tile)
            put(corpus, 'WhiteIsZero', [(blocks, {**tags, 262: ('H', [0])})], UNIT_PLANE, values, told='WhiteIsZero|white',
                refused='WhiteIsZero|white|tiles, Photometric')
        for orientation in range(2,
                                 9):  # 1: row 0 on top, column 0 on the left; values are those of the upright picture
            rows = rows_of(values, 6)
            flipped = {
                2: [r[::-1] for r in rows], 3: [r[::-1] for r in rows[::-1]], 4: rows[::-1], 5: columns(rows),
                6: [r for r in columns(rows)[::-1]], 7: [r[::-1] for r in columns(rows)[::-1]],
                8: [r[::-1] for r in columns(rows)]
            }[orientation]
            blocks, tags = picture([v for r in flipped for v in r], len(flipped[0]), type_name)
            put(corpus, f'Orientation {orientation}', [(blocks, {**tags, 274: ('H', [orientation])})], UNIT_PLANE,
                values, told='Orientation|orientation', refused='Orientation|orientation')
        three, together = colours_of(values, most)
        for planar in (False, True):
            for compression, tile in (('none', None), ('deflate', None), ('none', 16)):
                blocks, tags = picture(together, 6, type_name, samples=3, planar=planar, compression=compression, tile=tile)
                put(corpus, 'RGB', [(blocks, {**tags, 262: ('H', [2])})], UNIT_PLANE, three, told='colour',
                    refused='planes|colour|tiles, Photometric')
                if planar and most == 255:
                    shape = description('{"shape": [3, 5, 6]}')
                    put(corpus, 'tifffile planes', [(blocks, {**tags, **shape, 262: ('H', [2])})], UNIT_PLANE, three)
                put(corpus, 'channels', [(blocks, tags)], UNIT_PLANE, three, refused='channel|samples')
        with_alpha = [x for i in range(30) for x in together[3 * i:3 * i + 3] + [most]]
        blocks, tags = picture(with_alpha, 6, type_name, samples=4)
        put(corpus, 'RGB and opacity', [(blocks, {**tags, 262: ('H', [2]), 338: ('H', [2])})], UNIT_PLANE, three,
            told='colour', refused='colour')
        blocks, tags = picture([x for v in values for x in (v, most)], 6, type_name, samples=2)
        put(corpus, 'grey and opacity', [(blocks, {**tags, 338: ('H', [2])})], UNIT_PLANE, values, told='opacity',
            refused='opacity|samples')
    for form in (4, 5, 6):  # undefined, and complex numbers
        blocks, tags = picture(values, 6, 'uint16')
        put(corpus, f'SampleFormat {form}', [(blocks, {**tags, 339: ('H', [form])})], UNIT_PLANE, values,
            refused=f'SampleFormat {form}')
    blocks, tags = picture(values, 6, 'uint32', compression='deflate')
    put(corpus, 'damaged strip', [([b'?' + blocks[0][1:], *blocks[1:]], tags)], UNIT_PLANE, values, refused='cut off or damaged')
    put(corpus, 'Compression 99', [(blocks, {**tags, 259: ('H', [99])})], UNIT_PLANE, values, refused='Compression 99')
    blocks, tags = picture(values, 6)
    table = [(255 - i) * 257 for i in range(256)] * 3
    put(corpus, 'palette', [(blocks, {**tags, 262: ('H', [3]), 320: ('H', table)})], UNIT_PLANE,
        [[(255 - v) * 257 for v in values]] * 3, always_told='palette', refused='colour|palette')
    grey_table = [i * 257 for i in range(256)] * 3
    put(corpus, 'grey palette', [(blocks, {**tags, 262: ('H', [3]), 320: ('H', grey_table)})], UNIT_PLANE,
        [[257 * v for v in values]] * 3, always_told='palette', refused='colour|palette')


def sizes(corpus):
    values, stack = values_of(UNIT_PLANE.size), values_of(UNIT_STACK.size)
    one = lambda tags, type_name='uint8': [(b, {**t, **tags}) for b, t in [picture(values, 6, type_name)]]
    for e in '<>':
        for type_name in ('uint8', 'uint16', 'float32'):
            for unit, mm in ((2, 25.4), (3, 10.0)):
                for sx, sy in ((0.5, 0.5), (0.4, 0.8), (0.001, 0.001)):
                    pages = [(b, {**t, **resolution(mm / sx, mm / sy, unit)})
                             for b, t in [picture(values, 6, type_name, e=e)]]
                    put(corpus, 'resolution', pages, Grid([6, 5], [sx, sy], [0.0] * 2), values, e,
                        told='dots|spacing|Spacing')
    put(corpus, 'resolution without a unit', one(resolution(100, 100, 1)), UNIT_PLANE, values, **DEFAULT_TOLD)
    put(corpus, 'resolution 0', one({282: ('R', [0, 1]), 283: ('R', [0, 1]), 296: ('H', [3])}), UNIT_PLANE, values,
        **DEFAULT_TOLD, refused='resolution|spacing')

    def pages_of(many, text, tags=None, type_name='uint16', e='<'):
        result = [picture(v, 6, type_name, e=e) for v in rows_of(many, 30)]
        result[0] = (result[0][0], {**result[0][1], **description(text), **(tags or {})})
        return result

    words = dict(told='the text of (ImageJ|OME) in it names voxels of .*, which are not used: the spacing is .* mm; --pixel-spacing')
    for e in '<>':
        for unit, mm in (('micron', 0.001), ('um', 0.001), ('\\u00B5m', 0.001), ('mm', 1.0), ('cm', 10.0),
                         ('inch', 25.4), ('nm', 1e-6), ('pixel', None)):
            for spacing in (3.0, 0.5, None):
                text = f'ImageJ=1.53t\nimages=4\nslices=4\nunit={unit}\n' + (f'spacing={spacing}\n' if spacing else
                                                                             '') + 'loop=false\nmin=0.0\nmax=120.0\n'
                grid = Grid([6, 5, 4], [0.65 * (mm or 1), 0.8 * (mm or 1), (spacing or 1.0) * (mm or 1)], [0.0] * 3)
                if mm is None:
                    grid = Grid([6, 5, 4], [1.0, 1.0, spacing or 1.0], [0.0] * 3)
                for big in (False, True):
                    put(corpus, f'ImageJ {unit}', pages_of(stack, text, resolution(1 / 0.65, 1 / 0.8, 1), e=e), grid,
                        stack, e, big, what='ImageJ', **words)
        for channels, slice_count, times in ((2, 2, 1), (4, 1, 1), (1, 1, 4), (1, 2, 2), (2, 1, 2)):
            text = f'ImageJ=1.53t\nimages=4\nchannels={channels}\nslices={slice_count}\nframes={times}\nhyperstack=true\nunit=micron\nspacing=3.0\n'
            put(corpus, 'ImageJ hyperstack', pages_of(stack, text, e=e), UNIT_STACK, stack, e, refused='channel|frame',
                told='channel|frame')
        # PhysicalSize is in um where no unit is given (OME-XML 2016-06)
        for unit, mm in ((None, 0.001), ('\u00b5m', 0.001), ('mm', 1.0), ('nm', 1e-6), ('pixel', None), ('cm', 10.0),
                         ('m', 1000.0)):
            units = '' if unit is None else ''.join(f' PhysicalSize{a}Unit="{unit}"' for a in 'XYZ')
            for c, z, t in ((1, 4, 1), (2, 2, 1), (4, 1, 1), (1, 1, 4)):
                text = (
                    '<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
                    f'<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="6" SizeY="5" SizeZ="{z}" SizeC="{c}" SizeT="{t}"'
                    f' PhysicalSizeX="0.65" PhysicalSizeY="0.8" PhysicalSizeZ="3.0"{units}><TiffData/></Pixels></Image></OME>'
                )
                grid = Grid([6, 5, 4], [s * (mm or 1) for s in (0.65, 0.8, 3.0)], [0.0] * 3)
                put(
                    corpus, 'OME' if c * t == 1 else 'OME channels or times', pages_of(stack, text, e=e), grid, stack,
                    e,
                    **(words if c *
                       t == 1 else dict(refused='channel|time|frame|SizeC|SizeT', told='channel|time|frame')))
    # ImageJ stores signed numbers of 16 bits in this way
    put(corpus, 'ImageJ scale', pages_of(stack, 'ImageJ=1.53t\nimages=4\nslices=4\ncf=0\nc0=-32768.0\nc1=1.0\n'), UNIT_STACK,
        stack, always_told=r'a value is -32768.0 \+ 1.0 \* stored number')
    put(corpus, 'text of others', pages_of(stack, 'a picture of spacing=3'), UNIT_STACK, stack, **DEFAULT_TOLD)
    put(corpus, 'tifffile shape', pages_of(stack, '{"shape": [4, 5, 6]}'), UNIT_STACK, stack, **DEFAULT_TOLD)
    for text, pages in (('ImageJ=1.53t\nimages=4\nslices=4\n', 1), ('{"shape": [4, 5, 6], "truncated": true}', 1),
                        ('{"shape": [2, 2, 5, 6]}', 4)):
        put(corpus, 'lost slices', pages_of(stack[:30 * pages], text), UNIT_STACK, [-1] * 120,
            refused='the text of .*, and it holds . pictures: they are not the slices of one volume')
    put(corpus, 'tifffile axes', pages_of(stack, '{"axes": "CYX", "shape": [4, 5, 6]}'), UNIT_STACK, stack,
        refused='axes|channel', told='axes|channel')


def make(corpus):
    for part in (storage, meanings, sizes):
        part(corpus)
