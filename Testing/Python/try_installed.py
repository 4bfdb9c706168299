"""What a user does first with the installed package, and what needs its parts: the extension, the parameter files, and the
program for files with its libraries. Needs numpy alone; ends with an exception where something is not there."""

import pathlib
import struct
import tempfile
import zlib

import numpy as np

import tessera


def blob(at):
    y, x = np.mgrid[:40, :40]
    return (200 * np.exp(-((x - at) ** 2 + (y - 20) ** 2) / 60)).astype(np.uint8)


def png(image):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in image)
    head = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def dicom(image):
    """One CT slice in the explicit form of little-endian DICOM."""

    def element(group, number, kind, value):
        if isinstance(value, str):
            value = value.encode() + b"\0 "[kind != b"UI" :][: len(value) % 2]
        size = struct.pack("<HI", 0, len(value)) if kind == b"OW" else struct.pack("<H", len(value))
        return struct.pack("<HH", group, number) + kind + size + value

    def short(number):
        return struct.pack("<H", number)

    ct, form = "1.2.840.10008.5.1.4.1.1.2", "1.2.840.10008.1.2.1"
    meta = element(2, 2, b"UI", ct) + element(2, 3, b"UI", "1.2.3.4") + element(2, 0x10, b"UI", form)
    body = element(8, 0x16, b"UI", ct) + element(8, 0x18, b"UI", "1.2.3.4") + element(8, 0x60, b"CS", "CT")
    body += element(0x20, 0xD, b"UI", "1.2.3.1") + element(0x20, 0xE, b"UI", "1.2.3.2")
    body += element(0x20, 0x32, b"DS", "0\\0\\0") + element(0x20, 0x37, b"DS", "1\\0\\0\\0\\1\\0")
    body += element(0x28, 2, b"US", short(1)) + element(0x28, 4, b"CS", "MONOCHROME2")
    body += element(0x28, 0x10, b"US", short(image.shape[0])) + element(0x28, 0x11, b"US", short(image.shape[1]))
    body += element(0x28, 0x30, b"DS", "1\\1") + element(0x28, 0x100, b"US", short(16))
    body += element(0x28, 0x101, b"US", short(16)) + element(0x28, 0x102, b"US", short(15))
    body += element(0x28, 0x103, b"US", short(0)) + element(0x7FE0, 0x10, b"OW", image.astype("<u2").tobytes())
    return bytes(128) + b"DICM" + element(2, 0, b"UL", struct.pack("<I", len(meta))) + meta + body


found = tessera.register(blob(20), blob(23), "Translation")
assert np.allclose(found.transform.apply_points([[20.0, 20.0]]), [[23, 20]], atol=0.1)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for file, contents in ("a.png", png(blob(20))), ("a.dcm", dicom(blob(20))):
        (folder / file).write_bytes(contents)
        assert np.array_equal(np.squeeze(tessera.read(folder / file).array), blob(20)), file
    found.transform.save(folder / "t.h5")
    again = tessera.Transform.load(folder / "t.h5")
    assert np.array_equal(again.apply_points([[1.0, 2.0]]), found.transform.apply_points([[1.0, 2.0]]))
print(f"tessera {tessera.__version__}: {pathlib.Path(tessera.__file__).parent} is complete")
