"""How DICOM stores attributes and pixels (PS3.5, PS3.10)."""
import struct
import zlib

SYNTAX = {
    'explicit': '1.2.840.10008.1.2.1', 'implicit': '1.2.840.10008.1.2', 'big': '1.2.840.10008.1.2.2',
    'deflated': '1.2.840.10008.1.2.1.99', 'RLE': '1.2.840.10008.1.2.5'
}
COMPRESSED = {'JPEG': '1.2.840.10008.1.2.4.50', 'JPEG 2000': '1.2.840.10008.1.2.4.90', 'HTJ2K': '1.2.840.10008.1.2.4.201'}
ROOT = '1.2.826.0.1.3680043.2.1143.77'
LONG = ('OB', 'OW', 'SQ')  # kinds of values whose length has four bytes
NUMBERS = {'US': 'H', 'SS': 'h', 'UL': 'I', 'AT': 'H', 'FD': 'd'}
# Group, number and kind of each attribute (PS3.6).
TAGS = {
    'FileMetaInformationGroupLength': (0x0002, 0x0000, 'UL'),
    'FileMetaInformationVersion': (0x0002, 0x0001, 'OB'),
    'MediaStorageSOPClassUID': (0x0002, 0x0002, 'UI'),
    'MediaStorageSOPInstanceUID': (0x0002, 0x0003, 'UI'),
    'TransferSyntaxUID': (0x0002, 0x0010, 'UI'),
    'ImplementationClassUID': (0x0002, 0x0012, 'UI'),
    'ImageType': (0x0008, 0x0008, 'CS'),
    'SOPClassUID': (0x0008, 0x0016, 'UI'),
    'SOPInstanceUID': (0x0008, 0x0018, 'UI'),
    'AcquisitionTime': (0x0008, 0x0032, 'TM'),
    'Modality': (0x0008, 0x0060, 'CS'),
    'PatientName': (0x0010, 0x0010, 'PN'),
    'SliceThickness': (0x0018, 0x0050, 'DS'),
    'EchoTime': (0x0018, 0x0081, 'DS'),
    'SpacingBetweenSlices': (0x0018, 0x0088, 'DS'),
    'TriggerTime': (0x0018, 0x1060, 'DS'),
    'ImagerPixelSpacing': (0x0018, 0x1164, 'DS'),
    'FrameAcquisitionDateTime': (0x0018, 0x9074, 'DT'),
    'EffectiveEchoTime': (0x0018, 0x9082, 'FD'),
    'DiffusionBValue': (0x0018, 0x9087, 'FD'),
    'MREchoSequence': (0x0018, 0x9114, 'SQ'),
    'MRDiffusionSequence': (0x0018, 0x9117, 'SQ'),
    'CardiacSynchronizationSequence': (0x0018, 0x9118, 'SQ'),
    'ImagesInMosaicOwner': (0x0019, 0x0010, 'LO'),
    'ImagesInMosaic': (0x0019, 0x100a, 'US'),
    'StudyInstanceUID': (0x0020, 0x000d, 'UI'),
    'SeriesInstanceUID': (0x0020, 0x000e, 'UI'),
    'SeriesNumber': (0x0020, 0x0011, 'IS'),
    'InstanceNumber': (0x0020, 0x0013, 'IS'),
    'ImagePositionPatient': (0x0020, 0x0032, 'DS'),
    'ImageOrientationPatient': (0x0020, 0x0037, 'DS'),
    'FrameOfReferenceUID': (0x0020, 0x0052, 'UI'),
    'TemporalPositionIdentifier': (0x0020, 0x0100, 'IS'),
    'SliceLocation': (0x0020, 0x1041, 'DS'),
    'StackID': (0x0020, 0x9056, 'SH'),
    'InStackPositionNumber': (0x0020, 0x9057, 'UL'),
    'FrameContentSequence': (0x0020, 0x9111, 'SQ'),
    'PlanePositionSequence': (0x0020, 0x9113, 'SQ'),
    'PlaneOrientationSequence': (0x0020, 0x9116, 'SQ'),
    'TemporalPositionIndex': (0x0020, 0x9128, 'UL'),
    'NominalCardiacTriggerDelayTime': (0x0020, 0x9153, 'FD'),
    'SamplesPerPixel': (0x0028, 0x0002, 'US'),
    'PhotometricInterpretation': (0x0028, 0x0004, 'CS'),
    'PlanarConfiguration': (0x0028, 0x0006, 'US'),
    'NumberOfFrames': (0x0028, 0x0008, 'IS'),
    'FrameIncrementPointer': (0x0028, 0x0009, 'AT'),
    'Rows': (0x0028, 0x0010, 'US'),
    'Columns': (0x0028, 0x0011, 'US'),
    'PixelSpacing': (0x0028, 0x0030, 'DS'),
    'BitsAllocated': (0x0028, 0x0100, 'US'),
    'BitsStored': (0x0028, 0x0101, 'US'),
    'HighBit': (0x0028, 0x0102, 'US'),
    'PixelRepresentation': (0x0028, 0x0103, 'US'),
    'WindowCenter': (0x0028, 0x1050, 'DS'),
    'WindowWidth': (0x0028, 0x1051, 'DS'),
    'RescaleIntercept': (0x0028, 0x1052, 'DS'),
    'RescaleSlope': (0x0028, 0x1053, 'DS'),
    'RescaleType': (0x0028, 0x1054, 'LO'),
    'RedPaletteColorLookupTableDescriptor': (0x0028, 0x1101, 'US'),
    'GreenPaletteColorLookupTableDescriptor': (0x0028, 0x1102, 'US'),
    'BluePaletteColorLookupTableDescriptor': (0x0028, 0x1103, 'US'),
    'RedPaletteColorLookupTableData': (0x0028, 0x1201, 'OW'),
    'GreenPaletteColorLookupTableData': (0x0028, 0x1202, 'OW'),
    'BluePaletteColorLookupTableData': (0x0028, 0x1203, 'OW'),
    'ModalityLUTSequence': (0x0028, 0x3000, 'SQ'),
    'LUTDescriptor': (0x0028, 0x3002, 'US'),
    'ModalityLUTType': (0x0028, 0x3004, 'LO'),
    'LUTData': (0x0028, 0x3006, 'US'),
    'VOILUTSequence': (0x0028, 0x3010, 'SQ'),
    'PixelMeasuresSequence': (0x0028, 0x9110, 'SQ'),
    'PixelValueTransformationSequence': (0x0028, 0x9145, 'SQ'),
    'SiemensHeaderOwner': (0x0029, 0x0010, 'LO'),
    'SiemensHeader': (0x0029, 0x1010, 'OB'),
    'RealWorldValueMappingSequence': (0x0040, 0x9096, 'SQ'),
    'RealWorldValueIntercept': (0x0040, 0x9224, 'FD'),
    'RealWorldValueSlope': (0x0040, 0x9225, 'FD'),
    'TotalPixelMatrixColumns': (0x0048, 0x0006, 'UL'),
    'EnergyWindowVector': (0x0054, 0x0010, 'US'),
    'DetectorInformationSequence': (0x0054, 0x0022, 'SQ'),
    'TimeSlotVector': (0x0054, 0x0070, 'US'),
    'SliceVector': (0x0054, 0x0080, 'US'),
    'SegmentationType': (0x0062, 0x0001, 'CS'),
    'SegmentIdentificationSequence': (0x0062, 0x000a, 'SQ'),
    'ReferencedSegmentNumber': (0x0062, 0x000b, 'US'),
    'MaximumFractionalValue': (0x0062, 0x000e, 'US'),
    'DoseUnits': (0x3004, 0x0002, 'CS'),
    'GridFrameOffsetVector': (0x3004, 0x000c, 'DS'),
    'DoseGridScaling': (0x3004, 0x000e, 'DS'),
    'SharedFunctionalGroupsSequence': (0x5200, 0x9229, 'SQ'),
    'PerFrameFunctionalGroupsSequence': (0x5200, 0x9230, 'SQ'),
    'OverlayRows': (0x6000, 0x0010, 'US'),
    'OverlayColumns': (0x6000, 0x0011, 'US'),
    'OverlayType': (0x6000, 0x0040, 'CS'),
    'OverlayOrigin': (0x6000, 0x0050, 'SS'),
    'OverlayBitsAllocated': (0x6000, 0x0100, 'US'),
    'OverlayBitPosition': (0x6000, 0x0102, 'US'),
    'PixelData': (0x7fe0, 0x0010, 'OW'),
}


def element(name, value, syntax='explicit', kind=None):
    order = '>' if syntax == 'big' else '<'
    group, number, known = TAGS[name]
    kind = kind or known
    if kind == 'SQ':
        items = [dataset(item, syntax) for item in value]
        data = b''.join(struct.pack(order + 'HHI', 0xfffe, 0xe000, len(item)) + item for item in items)
    elif isinstance(value, bytes):
        data = value
    elif kind in NUMBERS:
        many = value if isinstance(value, list) else [value]
        data = struct.pack(f'{order}{len(many)}{NUMBERS[kind]}', *many)
    else:
        data = str(value).encode('latin-1')
    if len(data) % 2:
        data += b'\0' if kind in ('UI', 'OB') else b' '
    if syntax == 'implicit':
        return struct.pack('<HHI', group, number, len(data)) + data
    length = bytes(2) + struct.pack(order + 'I', len(data)) if kind in LONG else struct.pack(order + 'H', len(data))
    return struct.pack(order + 'HH', group, number) + kind.encode() + length + data


def dataset(fields, syntax):
    """fields: values by the names of TAGS; those that are None are left out."""
    given = sorted((TAGS[name], name) for name in fields if fields[name] is not None)
    return b''.join(element(name, fields[name], syntax) for _, name in given)


def packed_bits(data):
    """One plane of bytes in runs of literal bytes (PS3.5 G.3.1)."""
    out = b''
    for i in range(0, len(data), 128):
        part = data[i:i + 128]
        out += bytes([len(part) - 1]) + part
    return out + b'\0' * (len(out) % 2)


def items_of(frames):
    """Encapsulated frames behind an empty table of their offsets (PS3.5 A.4)."""
    items = b''.join(struct.pack('<HHI', 0xfffe, 0xe000, len(data)) + data for data in [b'', *frames])
    return items + struct.pack('<HHI', 0xfffe, 0xe0dd, 0)


def run_lengths(frames, byte_count):
    """Each frame as planes of bytes, the most significant one first (PS3.5 G)."""
    for frame in frames:
        planes = [packed_bits(frame[b::byte_count]) for b in reversed(range(byte_count))]
        offsets = [64 + sum(len(plane) for plane in planes[:b]) for b in range(15)]
        yield struct.pack('<16I', len(planes), *(offsets[:len(planes)] + [0] * (15 - len(planes)))) + b''.join(planes)


def dicom_file(fields, frames, byte_count, syntax='explicit'):
    """frames: the bytes of each, the least significant ones first, or as they are for a syntax of COMPRESSED."""
    meta = dataset(
        {
            'FileMetaInformationVersion': b'\0\1', 'MediaStorageSOPClassUID': fields['SOPClassUID'],
            'MediaStorageSOPInstanceUID': fields['SOPInstanceUID'], 'TransferSyntaxUID': (SYNTAX | COMPRESSED)[syntax],
            'ImplementationClassUID': ROOT + '.1'
        }, 'explicit')
    inner = syntax if syntax in ('implicit', 'big') else 'explicit'
    data = b''.join(frames)
    if syntax == 'big':
        data = b''.join(data[i:i + byte_count][::-1] for i in range(0, len(data), byte_count))
    body = dataset(fields, inner)
    if syntax == 'RLE' or syntax in COMPRESSED:  # of a length that is not told
        packed = run_lengths(frames, byte_count) if syntax == 'RLE' else (f + b'\0' * (len(f) % 2) for f in frames)
        body += struct.pack('<HH2sHI', 0x7fe0, 0x10, b'OB', 0, 0xffffffff) + items_of(packed)
    else:
        body += element('PixelData', data, inner, 'OW' if byte_count > 1 else 'OB')
    if syntax == 'deflated':
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = packer.compress(body) + packer.flush()
        body += b'\0' * (len(body) % 2)
    return bytes(128) + b'DICM' + element('FileMetaInformationGroupLength', len(meta)) + meta + body
