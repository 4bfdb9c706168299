#pragma once

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/Message.h"
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// Files that ITK and the libraries below it read and write. They do so in processes of tessera-decode, so
// that a library that a damaged file brings to its end does not take the program along, and so that programs
// start without these libraries. A process handles one file at a time, and ends after one that failed. Each
// function throws what tessera-decode throws, Error(unreadableInput) if it ends without an answer, and
// Error(device) if it is not there.

/// The requests that tessera-decode answers.
enum class DecoderRequest : char { open, read, readTransforms, writeImage, writeTransforms, writeField };

void pass(Message&, ImageHeader&);
void pass(Message&, ReadingOptions&);
void pass(Message&, ItkTransform&);

/// Opens an image, whose voxels tessera-decode reads, too.
std::unique_ptr<ImageSource> decodeImage(const std::string& path, const ReadingOptions&);

std::vector<ItkTransform> decodeTransforms(const std::string& path);

// The following write to the temporary path of a file that is not complete yet.

/// Voxels have the component type of the header.
void encodeImage(const AtomicFile&, const ImageHeader&, const void* voxels, bool compress);

void encodeTransforms(const AtomicFile&, const std::vector<ItkTransform>&, bool composite);

/// Writes a field on the grid of a header as ITK's transform.
void encodeField(const AtomicFile&, const ImageHeader&, std::span<const float> displacementsMm);

}
