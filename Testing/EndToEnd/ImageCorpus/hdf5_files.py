"""HDF5 as ITK lays out an image in it (ITKImage/0), by the HDF5 file format specification 1.1 (sections II, III and IV)."""
import struct

from metaimage_files import TYPES
from nifti_files import LIMITS, pack
from truth import *

NOWHERE = 0xffffffffffffffff
FLOATS = {'f': (31, 32, 23, 8, 0, 23, 127), 'd': (63, 64, 52, 11, 0, 52, 1023)}


def number_type(letter, big=False):
    """The message of a type of numbers (IV.A.2.d)."""
    size = struct.calcsize('<' + letter)
    if letter in FLOATS:
        sign, *parts = FLOATS[letter]
        return struct.pack('<BBBBI', 0x11, 0x20 | big, sign, 0, size) + struct.pack('<HHBBBBI', 0, *parts)
    return struct.pack('<BBBBIHH', 0x10, big | 8 * letter.islower(), 0, 0, size, 0, 8 * size)


class File:
    """Objects one behind the other; what holds others is written after them."""

    def __init__(self):
        self.bytes = bytearray(96)  # room for the superblock

    def put(self, data):
        self.bytes += bytes(-len(self.bytes) % 8)
        self.bytes += data
        return len(self.bytes) - len(data)

    def object(self, messages):
        """An object header of version 1."""
        body = b''
        for kind, data in messages:
            data += bytes(-len(data) % 8)
            body += struct.pack('<HHI', kind, len(data), 0) + data
        return self.put(struct.pack('<BBHIII', 1, 0, len(messages), 1, len(body), 0) + body)

    def group(self, members):
        links = [(6, struct.pack('<BBB', 1, 0, len(name)) + name.encode() + struct.pack('<Q', at))
                 for name, at in sorted(members.items())]
        return self.object([(2, struct.pack('<BBQQ', 0, 0, NOWHERE, NOWHERE)), (10, bytes(2))] + links)

    def data_set(self, shape, type_message, data):
        space = struct.pack('<BBB5x', 1, len(shape), 0) + struct.pack(f'<{len(shape)}Q', *shape)
        layout = struct.pack('<BBQQ', 3, 1, self.put(data), len(data))
        return self.object([(1, space), (3, type_message), (5, bytes([2, 1, 0, 0])), (8, layout)])

    def numbers(self, shape, letter, values):
        return self.data_set(shape, number_type(letter), pack(values, letter, False))

    def string(self, text):
        """A string of variable length, which stands in a heap of its own."""
        data = text.encode() + b'\0'
        heap = struct.pack('<HHIQ', 1, 1, 0, len(data)) + data + bytes(-len(data) % 8)
        rest = 4096 - 16 - len(heap)
        heap += struct.pack('<HHIQ', 0, 0, 0, rest) + bytes(rest - 16)
        at = self.put(struct.pack('<4sB3xQ', b'GCOL', 1, 4096) + heap)
        kind = struct.pack('<BBBBI', 0x19, 1, 0, 0, 16) + struct.pack('<BBBBI', 0x13, 0, 0, 0, 1)
        return self.data_set([1], kind, struct.pack('<IQI', len(data), at, 1))

    def whole(self, root):
        head = b'\x89HDF\r\n\x1a\n' + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack('<HHI', 4, 16, 0)
        head += struct.pack('<QQQQ', 0, NOWHERE, len(self.bytes), NOWHERE) + struct.pack('<QQII16x', 0, root, 0, 0)
        self.bytes[:96] = head
        return bytes(self.bytes)


def hdf5(grid, values, letter, big=False):
    file, n = File(), grid.dimension
    image = {
        'Origin': file.numbers([n], 'd', grid.origin), 'Spacing': file.numbers([n], 'd', grid.spacing),
        'Directions': file.numbers([n, n], 'd',
                                   [x for axis in grid.axes for x in axis]), 'Dimension': file.numbers([n], 'Q',
                                                                                                       grid.size),
        'VoxelType': file.string('SCALAR'), 'VoxelData': file.data_set(grid.size[::-1], number_type(letter, big),
                                                                       pack(values, letter,
                                                                            big)), 'MetaData': file.group({})
    }
    root = {
        'ITKImage': file.group({'0': file.group(image)}), 'ITKVersion': file.string('5.2.1'),
        'HDFVersion': file.string('1.10.8')
    }
    return file.whole(file.group(root))


def one(corpus, kind, grid, values, letter='h', big=False, at=None, **words):
    path = corpus.write(corpus.name('hdf5 ' + kind) + ('.hdf5' if big else '.h5'), hdf5(grid, values, letter, big))
    target, wanted = at or (grid, values)
    corpus.expect(path, target, wanted, 'HDF5 ' + kind, **words)


def make(corpus):
    for grid in (STRAIGHT, OBLIQUE, PLANE, TURNED_PLANE):
        values = values_of(grid.size)
        for order, flipped in every_orientation(grid.dimension):
            one(corpus, 'orientation', *stored(grid, values, order, flipped), at=(grid, values))
    for type_name, (_, letter) in TYPES.items():
        least, most = LIMITS.get(type_name, (-1000, 1000))
        for big in (False, True):
            for low, high in ((max(least, -1000), min(most, 1000)), (least, most)):
                one(corpus, 'most significant byte first' if big else 'types', STRAIGHT,
                    values_of(STRAIGHT.size, low, high), letter, big, **(dict(refused='') if big else {}))
