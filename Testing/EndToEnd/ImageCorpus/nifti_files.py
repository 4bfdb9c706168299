"""NIfTI-1 and Analyze 7.5. The offsets are those of nifti1.h (fields of struct nifti_1_header) and dbh.h."""
import gzip
import math
import struct

from truth import *

TYPES = {
    'uint8': (2, 'B'), 'int16': (4, 'h'), 'int32': (8, 'i'), 'float32': (16, 'f'), 'float64': (64, 'd'),
    'int8': (256, 'b'), 'uint16': (512, 'H'), 'uint32': (768, 'I'), 'int64': (1024, 'q'), 'uint64': (1280, 'Q')
}
LIMITS = {
    'uint8': (0, 255), 'int8': (-128, 127), 'uint16': (0, 65535), 'int16': (-32768, 32767), 'uint32': (0, 2**32 - 1),
    'int32': (-2**31, 2**31 - 1), 'uint64': (0, 2**64 - 1), 'int64': (-2**63, 2**63 - 1)
}


def ras(v):
    return [-v[0], -v[1]] + list(v[2:])


def quaternion(rows):
    """b, c, d of the rotation with these rows, in double precision (Shepperd's method: the largest of four)."""
    r = rows
    q = [
        1 + r[0][0] + r[1][1] + r[2][2], 1 + r[0][0] - r[1][1] - r[2][2], 1 - r[0][0] + r[1][1] - r[2][2],
        1 - r[0][0] - r[1][1] + r[2][2]
    ]
    k = max(range(4), key=lambda i: q[i])
    s = 2 * math.sqrt(q[k])
    a, b, c, d = {
        0: lambda: (s / 4, (r[2][1] - r[1][2]) / s, (r[0][2] - r[2][0]) / s, (r[1][0] - r[0][1]) / s), 1: lambda:
        ((r[2][1] - r[1][2]) / s, s / 4, (r[0][1] + r[1][0]) / s, (r[0][2] + r[2][0]) / s), 2: lambda: (
            (r[0][2] - r[2][0]) / s, (r[0][1] + r[1][0]) / s, s / 4, (r[1][2] + r[2][1]) / s), 3: lambda: (
                (r[1][0] - r[0][1]) / s, (r[0][2] + r[2][0]) / s, (r[1][2] + r[2][1]) / s, s / 4)
    }[k]()
    return [-b, -c, -d] if a < 0 else [b, c, d]


def in_three(grid):
    """The grid with three axes, in RAS: size, spacing, origin, axes."""
    n = grid.dimension
    axes = [ras((a + [0.0])[:3]) for a in grid.axes] + ([[0.0, 0.0, 1.0]] if n == 2 else [])
    return (grid.spacing + [1.0])[:3], ras((grid.origin + [0.0])[:3]), axes


def header(grid, type_code, bits, big=False, sform=1, qform=0, unit=1.0, xyzt=2, slope=0.0, inter=0.0, magic=b'n+1\0',
           offset=352.0, dim=None, pixdim=None, qshift=(0, 0, 0), intent=0, **raw):
    """unit: millimetres in the file's unit of length. raw: o123=bytes puts bytes at an offset."""
    e = '>' if big else '<'
    spacing, origin, axes = in_three(grid)
    h = bytearray(348)

    def put(at, form, *what):
        struct.pack_into(e + form, h, at, *what)

    put(0, 'i', 348)
    h[38:39] = b'r'
    dim = dim or [grid.dimension] + grid.size
    put(40, '8h', *(dim + [1] * 8)[:8])
    put(68, 'h', intent)
    put(70, 'h', type_code)
    put(72, 'h', bits)
    put(76, '8f', *[1.0] * 8)
    left = False
    if grid.dimension == 3 and qform:
        left = not is_right_handed(grid)
    put(76, '4f', -1.0 if left else 1.0, *(pixdim or [s / unit for s in spacing]))
    put(108, 'f', offset)
    put(112, '2f', slope, inter)
    h[123] = xyzt
    if qform:
        put(252, 'h', qform)
        turned = [axes[0], axes[1], [-x for x in axes[2]] if left else axes[2]]
        put(256, '3f', *quaternion(columns(turned)))
        put(268, '3f', *[(o + q) / unit for o, q in zip(origin, qshift)])
    if sform:
        put(254, 'h', sform)
        for row in range(3):
            put(280 + 16 * row, '4f', *[spacing[a] * axes[a][row] / unit for a in range(3)], origin[row] / unit)
    h[344:348] = magic
    for at, what in raw.items():
        at = int(at[1:])
        h[at:at + len(what)] = what
    return bytes(h)


def pack(values, code, big):
    return struct.pack(f'{">" if big else "<"}{len(values)}{code}', *values)


def put_file(corpus, kind, head, voxels, container='nii'):
    name = corpus.name(kind)
    if container == 'nii':
        return corpus.write(name + '.nii', head, bytes(4), voxels)
    if container == 'nii.gz':
        return corpus.write(name + '.nii.gz', gzip.compress(head + bytes(4) + voxels, 1))
    end = '.gz' if container.endswith('.gz') else ''
    pack_up = (lambda x: gzip.compress(x, 1)) if end else (lambda x: x)
    paths = [corpus.write(name + '.hdr' + end, pack_up(head)), corpus.write(name + '.img' + end, pack_up(voxels))]
    return paths[0 if container.startswith('hdr') else 1]


def one(corpus, kind, grid, values, truth=None, at=None, type_name='int16', big=False, container='nii', expect=None,
        what=None, **fields):
    """Writes one file with these stored values on this grid; truth: its values if they are others; at: (grid, values) as the
    truth is expected, if that is another order of the axes."""
    code, letter = TYPES[type_name]
    pair = not container.startswith('nii')
    fields.setdefault('magic', b'ni1\0' if pair else b'n+1\0')
    fields.setdefault('offset', 0.0 if pair else 352.0)
    head = header(grid, code, 8 * struct.calcsize('<' + letter), big, **fields)
    path = put_file(corpus, 'nifti ' + kind, head, pack(values, letter, big), container)
    target, wanted = at or (grid, truth or values)
    corpus.expect(path, target, wanted, 'NIfTI ' + (what or kind), **(expect or {}))


FORMS = {'sform': dict(sform=1, qform=0), 'qform': dict(sform=0, qform=1), 'both': dict(sform=2, qform=1)}


def orientations(corpus):
    for grid, name in ((STRAIGHT, 'straight'), (OBLIQUE, 'oblique')):
        values = values_of(grid.size)
        for number, (order, flipped) in enumerate(every_orientation(3)):
            file_grid, file_values = stored(grid, values, order, flipped)
            for form, codes in FORMS.items():
                big = (number + len(form)) % 2 == 1
                one(corpus, f'{name} {form}', file_grid, file_values, at=(grid, values), big=big,
                    container=['nii', 'nii.gz', 'hdr', 'img'][number % 4], **codes)
    for grid in (PLANE, TURNED_PLANE):
        values = values_of(grid.size)
        for order, flipped in every_orientation(2):
            file_grid, file_values = stored(grid, values, order, flipped)
            for form, codes in FORMS.items():
                if form == 'sform' or is_proper(file_grid):  # a qform of a plane is a rotation
                    one(corpus, f'plane {form}', file_grid, file_values, at=(grid, values), **codes)


def is_proper(plane):
    (a, b), (c, d) = plane.axes
    return a * d - b * c > 0


SLOPES = [(0.0, 0.0), (1.0, 0.0), (2.0, -10.0), (-1.0, 100.0), (0.5, 0.0), (1.0, 1000.0), (0.001, 0.0), (1e6, -1e7),
          (0.0, 7.0), (math.nan, math.nan), (math.nan, 7.0), (2.0, math.nan), (math.inf, 0.0), (1e-20, 0.0),
          (-0.0, 3.0), (1.0, -1.0), (1e20, 0.0), (1.0, math.inf)]


def types_and_slopes(corpus):
    for t, type_name in enumerate(TYPES):
        for k, (slope, inter) in enumerate(SLOPES):
            for big in [(t + k) % 2 == 1]:
                least, most = LIMITS.get(type_name, (-3000, 3000))
                raw = values_of(STRAIGHT.size, max(least, -3000), min(most, 3000))
                # nifti1.h: scaled only if scl_slope is not 0; a number that is not finite is none
                scaled = math.isfinite(slope) and slope != 0 and math.isfinite(inter)
                truth = [slope * v + inter for v in raw] if scaled else raw
                expect = {}
                if math.isfinite(slope) and slope != 0 and not math.isfinite(inter):
                    expect = dict(refused='scl_|scale', always_told='scl_|scale')
                elif not scaled and inter or slope == 1e-20:  # ITK, which reads pairs, scales them
                    expect = dict(refused='scl_')
                one(corpus, f'{type_name} {slope} {inter}', STRAIGHT, raw, truth, type_name=type_name, big=big,
                    container=['nii', 'hdr', 'nii.gz'][(len(type_name) + big) % 3], slope=slope, inter=inter,
                    expect=expect, what=f'scl_slope {slope} scl_inter {inter}')
    for type_name in TYPES:  # the ends of each type
        for big in (False, True):
            least, most = LIMITS.get(type_name, (-10**6, 10**6))
            raw = values_of(STRAIGHT.size, least, most)
            one(corpus, f'ends of {type_name}', STRAIGHT, raw, type_name=type_name, big=big)


def units(corpus):
    values = values_of(STRAIGHT.size)
    for grid in (STRAIGHT, OBLIQUE):
        for form, codes in FORMS.items():
            for container in ('nii', 'nii.gz', 'img'):
                for code, unit in ((1, 1000.0), (2, 1.0), (3, 0.001), (0, 1.0), (4, 1.0), (7, 1.0)):
                    for time in (0, 8):  # seconds
                        if time and container != 'nii':
                            continue
                        one(corpus, f'unit {code} {form}', grid, values, container=container, unit=unit,
                            xyzt=code + time,
                            expect=dict(told='unit|metre', refused='unit|metre') if code in (1, 3) else
                            dict(always_told=f'unit {code} of xyzt_units, which is no unit') if code > 3 else None, **codes)


def codes_and_shapes(corpus):
    values = values_of(STRAIGHT.size)
    plain = dict(type_name='int16')
    for s in range(0, 7):
        for q in range(0, 7):
            if s == q == 0:
                continue
            one(corpus, f'codes {s} {q}', STRAIGHT, values, sform=s, qform=q, **plain)
            # other places by the qform: that of the sform counts, and it is told
            if s and q:
                one(corpus, f'codes {s} {q} that differ', STRAIGHT, values, sform=s, qform=q, qshift=(3.0, 1.0, -2.0),
                    expect=dict(told='placed? the voxels twice|places the voxels twice'), **plain)
    for container in ('nii', 'nii.gz', 'hdr', 'img'):
        for big in (False, True):
            # neither code: nifti1.h's method 1 has no place; the corner is at 0 and the axes run right, front and up
            guess = Grid(STRAIGHT.size, STRAIGHT.spacing, [0, 0, 0], [[-1.0, 0, 0], [0, -1.0, 0], [0, 0, 1.0]])
            one(corpus, 'no form', STRAIGHT, values, at=(guess, values), sform=0, qform=0, big=big, container=container,
                expect=dict(always_told='qform|sform|convention', told='convention'), what=f'no form {container}')
    for dim in ([4, 6, 5, 4, 1], [5, 6, 5, 4, 1, 1], [7, 6, 5, 4, 1, 1, 1, 1], [3, 6, 5, 4, 0, 0, 0,
                                                                                0], [3, 6, 5, 4, 9, 9, 9, 9]):
        for big in (False, True):
            one(corpus, f'dim {dim[0]}', STRAIGHT, values, dim=dim, big=big, **plain)
    for offset in (352.0, 368.0, 400.0, 1000.0):
        for end in ('.nii', '.nii.gz'):
            data = header(STRAIGHT, 4, 16, offset=offset) + bytes(int(offset) - 348) + pack(values, 'h', False)
            path = corpus.write(
                corpus.name('nifti vox offset') + end, data if end == '.nii' else gzip.compress(data, 1))
            corpus.expect(path, STRAIGHT, values, f'NIfTI vox_offset {offset}')
    plain_file = header(STRAIGHT, 4, 16) + bytes(4) + pack(values, 'h', False)
    for cuts in ([0, 100, 400], [0, 348, 352], [0, 592, 592]):  # members of one gzip file (RFC 1952, 2.2)
        members = [plain_file[a:b] for a, b in zip(cuts, cuts[1:] + [None])]
        path = corpus.write(corpus.name('nifti members') + '.nii.gz', b''.join(gzip.compress(m) for m in members))
        corpus.expect(path, STRAIGHT, values, 'NIfTI of several gzip members')
    for end in ('.NII', '.Nii', '.NII.GZ', '.nii.GZ'):
        data = gzip.compress(plain_file, 1) if end.lower().endswith('gz') else plain_file
        path = corpus.write(corpus.name('nifti capital') + end, data)
        corpus.expect(path, STRAIGHT, values, 'NIfTI named in capitals', refused='')
    corpus.expect(corpus.write(corpus.name('nifti not packed') + '.nii.gz', plain_file), STRAIGHT, values, 'NIfTI not packed')
    for edge in ((1.5, 2.0, 2.5), (1.0, 1.0, 1.0), (-1.5, 2.0, 2.5), (0.0, 0.0, 0.0), (3.0, 4.0, 5.0), (1.5, 2.0,
                                                                                                        -2.5)):
        for s, q in ((1, 0), (1, 1)):
            one(corpus, f'sform beside pixdim {edge}', STRAIGHT, values, sform=s, qform=q, pixdim=list(edge),
                expect=dict(refused='pixdim|spacing|twice', told='pixdim|twice'))
    for qfac in (0.0, 1.0, math.nan, 5.0):
        one(corpus, f'qfac {qfac}', STRAIGHT, values, sform=0, qform=1, o76=struct.pack('<f', qfac),
            expect=dict(refused='qfac|pixdim') if qfac != qfac else None)
    for share in (1.001, 1.5):
        for forms in (dict(sform=0, qform=1), dict(sform=1, qform=1)):
            b = math.sqrt(share / 3)
            one(corpus, 'quaternion above 1', STRAIGHT, values, o256=struct.pack('<3f', b, b, b),
                expect=dict(refused='no rotation'), **forms)
    half_turn = Grid(STRAIGHT.size, STRAIGHT.spacing, STRAIGHT.origin, [[1.0, 0, 0], [0, -1.0, 0], [0, 0, -1.0]])
    one(corpus, 'half a turn', half_turn, values, sform=0, qform=1, o256=struct.pack('<3f', 0, 1.0000001, 0))
    for intent in (0, 2, 3, 5, 1001, 1002, 1003, 1011, 2001):
        one(corpus, f'intent {intent}', STRAIGHT, values, intent=intent)


def colours_and_series(corpus):
    values = values_of(STRAIGHT.size)
    for big in (False, True):
        three, together = colours_of(values, 255)
        path = put_file(corpus, 'nifti RGB', header(STRAIGHT, 128, 24, big), bytes(together))
        corpus.expect(path, STRAIGHT, three, 'NIfTI RGB', refused='colour|component', told='colour')
        opaque = bytes(x for i in range(len(values)) for x in together[3 * i:3 * i + 3] + [255])
        path = put_file(corpus, 'nifti RGBA', header(STRAIGHT, 2304, 32, big), opaque)
        corpus.expect(path, STRAIGHT, three, 'NIfTI RGBA', refused='colour|component', told='colour')
        for code, bits, letter in ((32, 64, 'f'), (1792, 128, 'd')):
            pairs = [x for v in values for x in (v, 0)]
            path = put_file(corpus, 'nifti complex', header(STRAIGHT, code, bits, big), pack(pairs, letter, big))
            corpus.expect(path, STRAIGHT, [values, [0] * len(values)], 'NIfTI complex', refused='complex|component')
        for code, bits in ((1536, 128), (2048, 256), (1, 1), (9999, 8), (0, 8)):
            path = put_file(corpus, f'nifti type {code}', header(STRAIGHT, code, bits, big), bytes(32 * len(values)))
            corpus.expect(path, STRAIGHT, values, f'NIfTI type {code}', refused='type')
        for count, form in ((2, 'sform'), (3, 'qform')):
            volumes = [[v + n for v in values] for n in range(count)]
            path = put_file(corpus, 'nifti volumes', header(STRAIGHT, 4, 16, big, dim=[4, 6, 5, 4, count],
                                                            **FORMS[form]),
                            pack([v for volume in volumes for v in volume], 'h', big))
            corpus.expect(path, STRAIGHT, volumes, 'NIfTI volumes', refused='volume|dimension|components')
        three = [values, [v + 1 for v in values], [-v for v in values]]
        for intent in (0, 1007):
            path = put_file(corpus, 'nifti vector', header(STRAIGHT, 16, 32, big, dim=[5, 6, 5, 4, 1, 3],
                                                           intent=intent), pack(values + three[1] + three[2], 'f', big))
            corpus.expect(path, STRAIGHT, three, 'NIfTI vector', refused='component|dimension|volume')


def broken(corpus):
    values = values_of(STRAIGHT.size)
    for at in (80, 256, 268, 280, 292, 296, 320, 108):
        for sform, qform in ((1, 0), (0, 1), (1, 1)):
            used = {256: qform, 268: qform, 280: sform, 292: sform, 296: sform, 320: sform}.get(at, True)
            for number in (math.nan, math.inf, -3e38):
                what = {80: 'spacing', 108: 'begin at byte|holds less than the'}.get(
                    at, 'its header hold [^ ]*: not a position. Allowed: numbers of a qform or sform')
                one(corpus, f'{number} at {at}', STRAIGHT, values, sform=sform, qform=qform,
                    **{f'o{at}': struct.pack('<f', number)}, expect=dict(refused=what) if used else None)
    head = header(STRAIGHT, 4, 16)
    for offset in (-5.0, 0.0, 100.0, 347.0):
        path = put_file(corpus, 'nifti offset inside', header(STRAIGHT, 4, 16, offset=offset), pack(values, 'h', False))
        corpus.expect(path, STRAIGHT, values, f'NIfTI vox_offset {offset}',
                      refused='its voxels are said to begin at byte .* Allowed: byte 352 or one behind it')
    # NIfTI-2: 540 bytes
    for big in (False, True):
        e = '>' if big else '<'
        h = bytearray(540)
        struct.pack_into(e + 'i', h, 0, 540)
        h[4:12] = b'n+2\0\r\n\x1a\n'
        struct.pack_into(e + 'hh', h, 12, 4, 16)
        struct.pack_into(e + '8q', h, 16, 3, 6, 5, 4, 1, 1, 1, 1)
        struct.pack_into(e + '8d', h, 104, 1, *STRAIGHT.spacing, 1, 1, 1, 1)
        struct.pack_into(e + 'q', h, 168, 544)
        struct.pack_into(e + 'ii', h, 344, 0, 1)
        for row in range(3):
            s = [0.0] * 4
            s[row] = STRAIGHT.spacing[row] * (-1 if row < 2 else 1)
            s[3] = ras(STRAIGHT.origin)[row]
            struct.pack_into(e + '4d', h, 400 + 32 * row, *s)
        struct.pack_into(e + 'i', h, 500, 2)
        for end in ('.nii', '.nii.gz'):
            data = bytes(h) + bytes(4) + pack(values, 'h', big)
            path = corpus.write(corpus.name('nifti 2') + end, gzip.compress(data, 1) if end == '.nii.gz' else data)
            corpus.expect(path, STRAIGHT, values, 'NIfTI-2', refused='NIfTI-2')
    # a voxel that is no number
    for bad in (math.nan, math.inf, -math.inf, 9.97e36, 1e300, -1e300, 1e-310):
        for type_name in ('float32', 'float64'):
            if type_name == 'float32' and 1e37 < abs(bad) < math.inf:
                continue
            raw = [float(v) for v in values]
            raw[50] = bad
            truth = [v if i != 50 else None for i, v in enumerate(raw)]
            one(corpus, f'{bad} in {type_name}', STRAIGHT, raw, truth, type_name=type_name)
    for spacing in (0.02, 0.005, 0.0001):
        small = Grid(STRAIGHT.size, [spacing] * 3, [x * spacing for x in STRAIGHT.origin])
        one(corpus, 'small voxels by an sform', small, values, sform=1, qform=0)
    # axes that are not perpendicular: NIfTI's sform can have them
    path = None
    sheared = [[1.5, 0.3, 0.0, -10.0], [0.0, 2.0, 0.0, 20.0], [0.0, 0.0, 2.5, 30.0]]
    for q in (0, 1):
        raw = {f'o{280 + 16 * r}': struct.pack('<4f', *sheared[r]) for r in range(3)}
        one(corpus, f'sheared sform {q}', STRAIGHT, values, qform=q,
            expect=dict(refused='perpendicular|shear', told='perpendicular|shear|twice'), **raw)


def analyze(corpus):
    """Analyze 7.5 has no place; SPM's originator and scale stand in unused fields."""
    values = values_of(STRAIGHT.size)
    none = bytes(4)
    for container in ('hdr', 'img', 'hdr.gz', 'img.gz'):
        for big in (False, True):
            for t, type_name in enumerate(('uint8', 'int16', 'int32', 'float32', 'float64')):
                for orient in ((0, 2, 4), (1, 3, 5))[(t + big) % 2]:
                    # dbh.h: 0 transverse unflipped, 1 coronal, 2 sagittal, 3 to 5 the same flipped
                    place = Grid(STRAIGHT.size, STRAIGHT.spacing, [0.0, 0.0, 0.0])
                    one(corpus, f'analyze {orient} {type_name}', STRAIGHT, values, at=(place, values),
                        type_name=type_name, big=big, container=container, sform=0, qform=0, magic=none,
                        o252=bytes([orient]), what=f'analyze {container}',
                        expect=dict(always_told='place|orient|convention|Analyze', refused='orient|Analyze'))
    for big in (False, True):
        e = '>' if big else '<'
        place = Grid(STRAIGHT.size, STRAIGHT.spacing, [0.0, 0.0, 0.0])
        for scale in (0.5, 2.0, 1.0, 0.0):  # funused1, which SPM2 takes for a factor
            one(corpus, f'analyze scale {scale}', STRAIGHT, values, truth=None,
                at=(place, [v * (scale or 1) for v in values]), big=big, container='hdr', sform=0, qform=0, magic=none,
                slope=scale, expect=dict(always_told='scale of SPM' if scale in (0.5, 2.0) else 'place', told='scale of SPM', refused='scale'))
        for unit, mm in (('cm', 10), ('um', 0.001), ('mm', 1), ('acre', 1)):  # vox_units
            in_mm = Grid(STRAIGHT.size, [s * mm for s in STRAIGHT.spacing], [0.0, 0.0, 0.0])
            one(corpus, f'analyze in {unit}', STRAIGHT, values, at=(in_mm, values), big=big, container='hdr', sform=0, qform=0,
                magic=none, o56=unit.encode().ljust(4, b'\0'),
                expect=dict(always_told='place' if unit == 'mm' else f'lengths in {unit}'))
        one(corpus, 'analyze SPM origin', STRAIGHT, values, at=(place, values), big=big, container='hdr', sform=0,
            qform=0, magic=none, o253=struct.pack(e + '3h', 3, 2,
                                                  2), expect=dict(always_told='place|orient|convention|Analyze|origin'))


def make(corpus):
    for part in (orientations, types_and_slopes, units, codes_and_shapes, colours_and_series, broken, analyze):
        part(corpus)
