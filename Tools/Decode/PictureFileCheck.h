#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

class TiffFile;

/// Throws Error(unreadableInput) for a JPEG, PNG, BMP, TIFF or DICOM file that is cut off or damaged. Their
/// libraries would fill up missing pixels, leave out slices or end the program. Also for a TIFF file with
/// channels or frames, but for ReadingOptions::framesAreSlices.
void checkPictureFile(const std::string& path, bool framesAreSlices = false);

/// Columns, rows (0: they stand at the end) and sign (0 or 1) of a JPEG, JPEG-LS or JPEG 2000.
constexpr std::size_t signIsNotTold = 2;
std::optional<std::array<std::size_t, 3>> pictureSize(std::string_view bytes);

/// Whether the colours of a JPEG are YCbCr, not RGB, by its marks (JFIF, Adobe, names of components) or as it
/// stores fewer samples of some components. Nothing if it does not say it.
std::optional<bool> jpegIsYbr(std::span<const char> jpegBytes);

/// Lines for the user about a JPEG, PNG, BMP or TIFF: an orientation, values that are read as others, and the
/// spacing where the user gave none. `tiff` is null for other formats.
std::vector<std::string> notesOnPicture(const ImageHeader&, const ReadingOptions&, const TiffFile* tiff);

}
