#pragma once

#include "Core/Image/Compression/Inflater.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/FileNumbers.h"
#include "Core/Image/Files/ImageHead.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/NiftiOrientation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>

namespace tessera {

inline bool isGzip(const FileHead& file)
{
  return file.bytes.starts_with("\x1f\x8b");
}

/// Fills `bytes` with the first ones of a file, inflated if it is compressed. False if there are fewer.
inline bool readStart(const FileHead& file, std::span<unsigned char> bytes)
{
  return isGzip(file) ? Inflater(*file.file, 0).fill(std::as_writable_bytes(bytes))
                      : file.bytes.copy(reinterpret_cast<char*>(bytes.data()), bytes.size()) == bytes.size();
}

/// The 348 bytes of a NIfTI-1 or Analyze header in the file's byte order.
class NiftiHeader {
public:
  static constexpr int maxAxes = 7;

  /// Reads the header of a file, compressed or not. False if the file does not begin with such a header.
  bool read(const FileHead& file)
  {
    if (!readStart(file, bytes_))
      return false;
    compressed_ = isGzip(file);
    swapped_ = integerAt<std::uint32_t>(0) != byteCount;
    return integerAt<std::uint32_t>(0) == byteCount;
  }

  bool isCompressed() const { return compressed_; }
  bool isOneFile() const { return std::memcmp(&bytes_[344], "n+1", 4) == 0; }
  bool isNifti() const { return isOneFile() || std::memcmp(&bytes_[344], "ni1", 4) == 0; }
  /// Whether its magic word is that of NIfTI-2 to -9, which the library reads as NIfTI-1.
  bool isOfOtherVersion() const
  {
    return bytes_[344] == 'n' && (bytes_[345] == '+' || bytes_[345] == 'i') && bytes_[346] >= '2'
           && bytes_[346] <= '9' && bytes_[347] == 0;
  }
  int intent() const { return integerAt<std::uint16_t>(68); }
  float intentParameter() const { return floatAt(56); } // the first of three
  std::string intentName() const
  {
    const char* const name = reinterpret_cast<const char*>(&bytes_[328]);
    return std::string(name, strnlen(name, 16));
  }
  int axes() const { return integerAt<std::uint16_t>(40); }
  int voxelType() const { return integerAt<std::uint16_t>(70); }
  std::uint64_t size(int axis) const { return integerAt<std::uint16_t>(42 + 2 * axis); }
  float spacing(int axis) const { return floatAt(80 + 4 * axis); }

  /// The first number of the axes and origin in use with which the library would abort or never end.
  std::optional<float> wrongPlaceNumber() const
  {
    constexpr float largestSpacing = 1e6F; // mm
    constexpr float far = 1e30F;           // mm
    const auto wrongOf = [&](std::size_t offset, std::size_t count, auto isOrigin) -> std::optional<float> {
      for (std::size_t i = 0; i < count; ++i)
        if (const float value = floatAt(offset + 4 * i);
            !(std::abs(value) < (isOrigin(i) ? far : largestSpacing)))
          return value;
      return std::nullopt;
    };
    std::optional<float> wrong;
    if (integerAt<std::uint16_t>(252) != 0) // quatern_b, c, d, qoffset_x, y, z
      wrong = wrongOf(256, 6, [](std::size_t i) { return i >= 3; });
    if (!wrong && integerAt<std::uint16_t>(254) != 0) // srow_x, y, z
      wrong = wrongOf(280, 12, [](std::size_t i) { return i % 4 == 3; });
    return wrong;
  }

  /// By xyzt_units, or vox_units of Analyze; empty for mm and where there is none.
  std::string unit() const
  {
    const char* const name = reinterpret_cast<const char*>(&bytes_[56]);
    const int code = bytes_[123] & 7;
    return !isNifti()               ? std::string(name, strnlen(name, 4))
           : code == 1              ? "metres"
           : code == 3              ? "micrometres"
           : code == 0 || code == 2 ? ""
                                    : "unit " + std::to_string(code) + " of xyzt_units";
  }

  double mmOfUnit() const { return unit() == "metres" ? 1e3 : unit() == "micrometres" ? 1e-3 : 1; }

  /// By xyzt_units: milliseconds and microseconds are allowed, too.
  double secondsOfUnit() const
  {
    const int unit = isNifti() ? bytes_[123] & 56 : 0;
    return unit == 16 ? 1e-3 : unit == 24 ? 1e-6 : 1;
  }

  NiftiForms forms() const
  {
    NiftiForms forms{{floatAt(76), spacing(0), spacing(1), spacing(2), spacing(3)},
                     static_cast<std::int16_t>(integerAt<std::uint16_t>(252)),
                     static_cast<std::int16_t>(integerAt<std::uint16_t>(254)),
                     {floatAt(256), floatAt(260), floatAt(264)},
                     {floatAt(268), floatAt(272), floatAt(276)},
                     {}};
    for (int axis = 0; axis < 4; ++axis) {
      if (float& mm = forms.pixdim[axis + 1]; axis < axes() && (mm == 0 || !std::isfinite(mm)))
        mm = 1; // as its library does
      for (int row = 0; row < 3; ++row)
        forms.srow[row][axis] = floatAt(280 + 16 * row + 4 * axis);
    }
    return forms;
  }

  /// The kind of voxels that the NIfTI library reads wrongly if they are scaled; else empty. It scales only
  /// as many numbers as there are voxels, and writes integers beyond the end of their memory.
  std::string wronglyScaled() const
  {
    const auto type = integerAt<std::uint16_t>(70);
    const bool isColour = type == 128 || type == 2304,
               isVector = axes() > componentAxis && size(componentAxis) > 1;
    const bool isComplex = type == 32 || type == 1792;
    return !valueScaling().isScaled() ? ""
           : isColour                 ? "colours"
           : isComplex                ? "complex numbers"
           : isVector                 ? "vectors"
                                      : "";
  }

  /// scl_slope and scl_inter if one is no number, or, for files that ITK reads, if it scales otherwise than
  /// by the standard: it takes a slope near 0 for 1, and adds the intercept. Else empty.
  std::string wrongScaling(bool isReadByItk) const
  {
    const double slope = floatAt(112), intercept = floatAt(116);
    const bool isSlope = std::isfinite(slope) && slope != 0, isIntercept = std::isfinite(intercept);
    const bool isOtherByItk = isSlope ? std::abs(slope) < small : isIntercept && std::abs(intercept) > small;
    return (isSlope && !isIntercept) || (isReadByItk && isOtherByItk)
               ? "scl_slope " + shortText(slope) + " beside scl_inter " + shortText(intercept)
               : "";
  }

  /// None if scl_slope is 0 or no finite number. Beside a slope of 1 ITK takes an intercept near 0 for none.
  ValueScaling valueScaling() const
  {
    const ValueScaling stated{floatAt(112), floatAt(116)};
    const bool isNone = !std::isfinite(stated.slope) || stated.slope == 0
                        || (stated.slope == 1 && std::abs(stated.intercept) < small);
    return isNone ? ValueScaling{} : stated;
  }

  float statedOffset() const { return floatAt(108); }
  /// Whether the voxels are said to begin inside the header of their own file. The standard has them begin at
  /// byte 352 then, and the library takes them from byte 348 on.
  bool beginsInsideHeader() const
  {
    return isOneFile() && !(statedOffset() >= static_cast<float>(byteCount));
  }
  /// The position of the voxels in their file, before compression. Only if not beginsInsideHeader().
  std::uint64_t firstVoxel() const
  {
    return statedOffset() > 0 ? static_cast<std::uint64_t>(std::min(statedOffset(), farOffset)) : 0;
  }

  /// Length of the file that holds the voxels, before compression.
  std::uint64_t dataFileBytes() const { return firstVoxel() + imageBytes(); }

  /// The place of the voxels, for a file with volumes of scalars, or one of vectors that are not scaled.
  std::optional<VoxelPlace> plainVoxels(const FileHead& file) const
  {
    if (!(hasEnding(file.path, ".nii") || hasEnding(file.path, ".nii.gz")) || !isOneFile()
        || beginsInsideHeader() || axes() < 1 || axes() > maxAxes)
      return std::nullopt;
    const std::optional<PixelType> type = pixelTypeNamed(niftiTypes, voxelType());
    const ValueScaling scaling = valueScaling();
    const bool isField = intent() == displacementIntent;
    const bool hasVectors = (isField || intent() == vectorIntent) && axes() == componentAxis + 1;
    const int components = hasVectors ? static_cast<int>(size(componentAxis)) : 1;
    const bool isUsual =
        intent() != matrixIntent && intent() != symmetricIntent && (intent() != vectorIntent || hasVectors);
    bool hasPlace = isUsual;
    for (int axis = 0; axis < axes(); ++axis)
      hasPlace = hasPlace && size(axis) <= longestAxis
                 && (axis < (components > 1 ? 3 : 4) || size(axis) <= 1
                     || (axis == componentAxis && components > 1));
    const bool isNumberInMm = type == PixelType::float32 || type == PixelType::float64;
    if (!type || !hasPlace || (scaling.isScaled() && (isField || components > 1))
        || (isField && !isNumberInMm))
      return std::nullopt;
    VoxelPlace place;
    place.path = file.path;
    place.file = file.file;
    place.encoding = compressed_ ? FileEncoding::gzip : FileEncoding::plain;
    place.offset = firstVoxel();
    place.byteCount = imageBytes();
    place.type = *type;
    place.swapped = swapped_ != (std::endian::native == std::endian::big);
    place.components = components;
    place.apart = components > 1;
    place.towardsRas = isField && components == 3; // for three components only, like ITK from 5.4 on
    place.scaling = scaling;
    return place;
  }

  /// The header of an image with a place of voxels. Empty if ITK takes no such grid, or sees one axis.
  std::optional<ImageHeader> imageHeader(const std::string& path, const VoxelPlace& voxels) const
  {
    const auto lengthOf = [this](int axis) {
      return axis < axes() ? std::max<std::uint64_t>(1, size(axis)) : std::uint64_t(1);
    };
    ImageHeader image;
    image.path = path;
    int axesOfItk = axes();
    if (intent() == vectorIntent)
      axesOfItk = lengthOf(2) > 1 ? 3 : lengthOf(1) > 1 ? 2 : 1;
    else
      while (axesOfItk > 3 && lengthOf(axesOfItk - 1) == 1)
        --axesOfItk;
    // ITK before 5.4 has five axes of scalars for a displacement field.
    image.dimension = axesOfItk <= 4 ? axesOfItk : lengthOf(2) > 1 ? 3 : 2;
    image.components = voxels.components;
    image.meaning =
        axesOfItk > 4 ? PixelMeaning::vector : meaningOf(image.components, voxels.type == PixelType::uint8);
    image.componentType = typeOfValues(voxels);
    const NiftiForms places = forms();
    for (int axis = 0; axis < image.dimension; ++axis) {
      image.size.push_back(lengthOf(axis));
      image.spacingMm.push_back(static_cast<double>(places.pixdim[axis + 1])
                                * (axis < 3 ? mmOfUnit() : secondsOfUnit()));
    }
    if (image.dimension < 2 || !orientFromNifti(places, std::min(axesOfItk, 3), image))
      return std::nullopt;
    if (const double first = floatAt(136); image.dimension == 4 && std::isfinite(first)) // toffset
      image.originMm[3] = first * secondsOfUnit();
    return image;
  }

  /// Bytes of a voxel by its datatype; 0 if the standard has no such type.
  std::uint64_t voxelBytes() const
  {
    static const std::map<int, std::uint64_t> others{{128, 3},   {32, 8},   {1536, 16},
                                                     {1792, 16}, {2304, 4}, {2048, 32}};
    if (const std::optional<PixelType> type = pixelTypeNamed(niftiTypes, voxelType()))
      return pixelTypeSize(*type);
    const auto found = others.find(voxelType());
    return found == others.end() ? 0 : found->second;
  }

private:
  static constexpr std::size_t byteCount = 348;
  static constexpr double small = std::numeric_limits<double>::epsilon(); // to ITK this is 0
  static constexpr float farOffset = 0x1p62f;                             // no file is longer
  static constexpr std::uint64_t longestAxis = 32767;
  // NIFTI_INTENT_GENMATRIX, SYMMATRIX, DISPVECT, VECTOR
  static constexpr int matrixIntent = 1004, symmetricIntent = 1005, displacementIntent = 1006,
                       vectorIntent = 1007;
  static constexpr int componentAxis = 4; // counted from 0

  std::uint64_t imageBytes() const
  {
    std::uint64_t bytes = voxelBytes();
    for (int axis = 0; axis < axes(); ++axis)
      bytes = bytesTimes(bytes, std::max<std::uint64_t>(1, size(axis)));
    return bytes;
  }

  template <class Unsigned>
  Unsigned integerAt(std::size_t offset) const
  {
    const std::string_view bytes(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    return static_cast<Unsigned>(numberAt(bytes, offset, sizeof(Unsigned), swapped_));
  }
  float floatAt(std::size_t offset) const { return std::bit_cast<float>(integerAt<std::uint32_t>(offset)); }

  std::array<unsigned char, byteCount> bytes_{};
  bool swapped_ = false; // the byte order differs from this machine's
  bool compressed_ = false;
};

}
