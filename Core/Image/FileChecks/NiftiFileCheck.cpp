#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/VoxelPlace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include <zlib.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using GzipFile = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

/// The 348 bytes of a NIfTI-1 or Analyze header in the file's byte order.
class NiftiHeader {
public:
  static constexpr int maxAxes = 7;

  /// Reads the header of a file, compressed or not. False if the file does not begin with such a header.
  bool read(const std::string& path)
  {
    const GzipFile file(gzopen(path.c_str(), "rb"), gzclose);
    if (!file || gzread(file.get(), bytes_.data(), byteCount) != static_cast<int>(byteCount))
      return false;
    compressed_ = gzdirect(file.get()) == 0;
    swapped_ = integerAt<std::uint32_t>(0) != byteCount;
    if (swapped_)
      std::reverse(bytes_.begin(), bytes_.begin() + 4);
    return integerAt<std::uint32_t>(0, false) == byteCount;
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
  int axes() const { return integerAt<std::uint16_t>(40); }
  int voxelType() const { return integerAt<std::uint16_t>(70); }
  std::uint64_t size(int axis) const { return integerAt<std::uint16_t>(42 + 2 * axis); }
  float spacingMm(int axis) const { return floatAt(80 + 4 * axis); }

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

  /// By xyzt_units: metres and micrometres are allowed, too.
  double mmOfUnit() const
  {
    const int unit = isNifti() ? bytes_[123] & 7 : 0;
    return unit == 1 ? 1e3 : unit == 3 ? 1e-3 : 1;
  }

  /// From an index to mm, right, front and up, by the qform; empty if there is none.
  std::optional<AffineMap<3>> qform() const
  {
    if (static_cast<std::int16_t>(integerAt<std::uint16_t>(252)) <= 0)
      return std::nullopt;
    double b = floatAt(256), c = floatAt(260), d = floatAt(264);
    const double squared = b * b + c * c + d * d;
    if (squared > 1) { // by rounding: a half turn
      const double length = std::sqrt(squared);
      b /= length, c /= length, d /= length;
    }
    const double a = std::sqrt(std::max(0.0, 1 - squared));
    AffineMap<3> map;
    map.matrix = {{{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                   {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                   {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}}};
    for (int row = 0; row < 3; ++row) {
      for (int axis = 0; axis < 3; ++axis)
        map.matrix[row][axis] *= mmOfUnit() * (size(axis) > 1 ? spacingMm(axis) : 1);
      map.matrix[row][2] *= floatAt(76) < 0 ? -1 : 1; // qfac
      map.offset[row] = mmOfUnit() * floatAt(268 + 4 * row);
    }
    return map;
  }
  /// From an index to mm, right, front and up, by the sform; empty if there is none.
  std::optional<AffineMap<3>> sform() const
  {
    if (static_cast<std::int16_t>(integerAt<std::uint16_t>(254)) <= 0)
      return std::nullopt;
    AffineMap<3> map;
    for (int row = 0; row < 3; ++row) {
      for (int axis = 0; axis < 3; ++axis)
        map.matrix[row][axis] = mmOfUnit() * floatAt(280 + 16 * row + 4 * axis);
      map.offset[row] = mmOfUnit() * floatAt(292 + 16 * row);
    }
    return map;
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
  std::optional<VoxelPlace> plainVoxels(const std::string& path) const
  {
    if (!isOneFile() || beginsInsideHeader() || axes() < 1 || axes() > maxAxes)
      return std::nullopt;
    const std::optional<PixelType> type = pixelType();
    const ValueScaling scaling = valueScaling();
    const bool isField = intent() == displacementIntent;
    const bool hasVectors = (isField || intent() == vectorIntent) && axes() == componentAxis + 1;
    const int components = hasVectors ? static_cast<int>(size(componentAxis)) : 1;
    bool isOneVolume = true;
    for (int axis = 3; axis < axes(); ++axis)
      isOneVolume = isOneVolume && (size(axis) <= 1 || (axis == componentAxis && components > 1));
    const bool isNumberInMm = type == PixelType::float32 || type == PixelType::float64;
    if (!type || (!isOneVolume && (isField || components > 1))
        || (scaling.isScaled() && (isField || components > 1)) || (isField && !isNumberInMm))
      return std::nullopt;
    VoxelPlace place;
    place.path = path;
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

  /// Bytes of a voxel by its datatype; 0 if the standard has no such type.
  std::uint64_t voxelBytes() const
  {
    static const std::map<int, std::uint64_t> bytes{
        {2, 1},  {256, 1}, {4, 2},    {512, 2},  {128, 3},   {8, 4},     {16, 4},   {768, 4},
        {32, 8}, {64, 8},  {1024, 8}, {1280, 8}, {1536, 16}, {1792, 16}, {2304, 4}, {2048, 32}};
    const auto found = bytes.find(voxelType());
    return found == bytes.end() ? 0 : found->second;
  }

private:
  static constexpr std::size_t byteCount = 348;
  static constexpr double small = std::numeric_limits<double>::epsilon(); // to ITK this is 0
  static constexpr float farOffset = 0x1p62f;                             // no file is longer
  static constexpr int displacementIntent = 1006,
                       vectorIntent = 1007; // NIFTI_INTENT_DISPVECT, NIFTI_INTENT_VECTOR
  static constexpr int componentAxis = 4;   // counted from 0

  /// None if scl_slope is 0 or no finite number. Beside a slope of 1 ITK takes an intercept near 0 for none.
  ValueScaling valueScaling() const
  {
    const ValueScaling stated{floatAt(112), floatAt(116)};
    const bool isNone = !std::isfinite(stated.slope) || stated.slope == 0
                        || (stated.slope == 1 && std::abs(stated.intercept) < small);
    return isNone ? ValueScaling{} : stated;
  }

  int intent() const { return integerAt<std::uint16_t>(68); }

  std::uint64_t imageBytes() const
  {
    std::uint64_t bytes = voxelBytes();
    for (int axis = 0; axis < axes(); ++axis)
      bytes = bytesTimes(bytes, std::max<std::uint64_t>(1, size(axis)));
    return bytes;
  }

  std::optional<PixelType> pixelType() const
  {
    using enum PixelType;
    static const std::map<int, PixelType> types{{2, uint8},    {4, int16},    {8, int32},    {16, float32},
                                                {64, float64}, {256, int8},   {512, uint16}, {768, uint32},
                                                {1024, int64}, {1280, uint64}};
    const auto found = types.find(voxelType());
    return found == types.end() ? std::nullopt : std::optional(found->second);
  }

  template <class Unsigned>
  Unsigned integerAt(std::size_t offset, bool swapped) const
  {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
      value |= static_cast<std::uint64_t>(bytes_[offset + (swapped ? sizeof(Unsigned) - 1 - i : i)])
               << (8 * i);
    return static_cast<Unsigned>(value);
  }
  template <class Unsigned>
  Unsigned integerAt(std::size_t offset) const
  {
    return integerAt<Unsigned>(offset, swapped_);
  }
  float floatAt(std::size_t offset) const { return std::bit_cast<float>(integerAt<std::uint32_t>(offset)); }

  std::array<unsigned char, byteCount> bytes_{};
  bool swapped_ = false; // the byte order differs from this machine's
  bool compressed_ = false;
};

/// The file with the voxels: .img or .img.gz if the header is a separate file.
fs::path dataFileOf(const fs::path& path)
{
  const fs::path stem = path.parent_path() / (path.extension() == ".gz" ? path.stem().stem() : path.stem());
  const fs::path plain = stem.string() + ".img", compressed = stem.string() + ".img.gz";
  return fs::exists(plain) || !fs::exists(compressed) ? plain : compressed;
}

fs::path headerFileOf(const fs::path& path)
{
  const std::string name = path.string();
  const std::size_t end = name.ends_with(".img")      ? name.size() - 4
                          : name.ends_with(".img.gz") ? name.size() - 7
                                                      : std::string::npos;
  if (end == std::string::npos)
    return path;
  const fs::path plain = name.substr(0, end) + ".hdr", compressed = name.substr(0, end) + ".hdr.gz";
  return fs::exists(plain) || !fs::exists(compressed) ? plain : compressed;
}

std::optional<NiftiHeader> namedNifti(const std::string& path)
{
  NiftiHeader header;
  bool isNamed = false;
  for (const char* ending : {".nii", ".nii.gz", ".hdr", ".img", ".hdr.gz", ".img.gz"})
    isNamed = isNamed || hasEnding(path, ending);
  return isNamed && header.read(headerFileOf(path)) ? std::optional(header) : std::nullopt;
}

}

bool checkNiftiFile(const std::string& path)
{
  if (path.ends_with(".img.gz") || path.ends_with(".hdr.gz"))
    for (const char* plain : {".img", ".hdr"})
      if (fs::exists(path.substr(0, path.size() - 7) + plain))
        failToRead(path, "the uncompressed file beside it hides it from the NIfTI library",
                   "one of both in a folder");
  NiftiHeader header;
  const fs::path headerPath = headerFileOf(path);
  const bool pair = headerPath != fs::path(path) || path.ends_with(".hdr") || path.ends_with(".hdr.gz");
  if (!header.read(headerPath))
    return false;
  if (header.isOfOtherVersion())
    failToRead(path, "its header has the length of NIfTI-1, and the magic word of another version",
               "the magic word n+1 or ni1");
  if (!header.isNifti() && !pair)
    return false;
  if (header.axes() < 1 || header.axes() > NiftiHeader::maxAxes || header.voxelBytes() == 0)
    failToRead(path,
               "its header has " + std::to_string(header.axes()) + " axes and voxels of type "
                   + std::to_string(header.voxelType()),
               "1 to 7 axes, and a type of NIfTI-1");
  if (header.isCompressed() && !hasEnding(headerPath.string(), ".gz"))
    failToRead(path, "it is compressed, which its library sees only by a name that ends in .gz",
               "such a name");
  if (header.beginsInsideHeader())
    failToRead(path,
               "its voxels are said to begin at byte " + shortText(header.statedOffset())
                   + " (vox_offset), inside its header",
               "byte 352 or one behind it, as in files that nibabel or ITK writes");
  for (int axis = 0; axis < std::min(3, header.axes()); ++axis)
    if (header.size(axis) > 1)
      checkSpacing(path, axis, header.spacingMm(axis));
  if (const std::optional<float> wrong = header.isNifti() ? header.wrongPlaceNumber() : std::nullopt)
    failToRead(path, "the axes and origin of its header hold " + shortText(*wrong) + ": not a position",
               "numbers of a qform or sform in millimetres");
  if (const std::string what = header.isNifti() ? header.wronglyScaled() : ""; !what.empty())
    failToRead(path, "its scl_slope and scl_inter scale " + what + ", which its library reads wrongly",
               "colours, complex numbers and vectors that are not scaled");
  if (const std::string wrong = header.isNifti() ? header.wrongScaling(!header.plainVoxels(path)) : "";
      !wrong.empty())
    failToRead(path, wrong + ": its library scales the voxels otherwise than the standard",
               "finite numbers, and beside a slope of 0 an intercept of 0");
  const fs::path dataPath = header.isOneFile() ? fs::path(path) : dataFileOf(path);
  if (!fs::exists(dataPath))
    failToRead(path, "its data file " + dataPath.string() + " is missing",
               "both files of the pair in one folder");
  if (!holdsBytes(dataPath.string(), header.dataFileBytes()))
    failToRead(path,
               dataPath.string() + " holds less than the " + std::to_string(header.dataFileBytes())
                   + " bytes that its header promises",
               wholeFile);
  return true;
}

double niftiUnitMm(const std::string& path)
{
  return namedNifti(path).value_or(NiftiHeader()).mmOfUnit();
}

void failOnSform(const std::string& path)
{
  NiftiHeader header;
  const std::optional<AffineMap<3>> sform =
      header.read(headerFileOf(path)) ? header.sform() : std::optional<AffineMap<3>>();
  std::string widthsMm, pixdimMm;
  bool areOthers = false;
  for (int axis = 0; axis < 3 && sform; ++axis) {
    const double widthMm = std::hypot(sform->matrix[0][axis], sform->matrix[1][axis], sform->matrix[2][axis]),
                 saidMm = header.mmOfUnit() * header.spacingMm(axis);
    areOthers = areOthers || !(std::abs(widthMm - saidMm) <= 0.01 * widthMm);
    widthsMm += " " + shortText(widthMm);
    pixdimMm += " " + shortText(saidMm);
  }
  if (areOthers)
    failToRead(path,
               "by its sform the voxels are" + widthsMm + " mm wide, by its pixdim" + pixdimMm
                   + " mm, and it has no qform that decides",
               "pixdim with the lengths of the sform's columns, as nibabel writes them: i = nib.load(\""
                   + fs::path(path).filename().string()
                   + "\"); nib.save(nib.Nifti1Image(i.dataobj, i.affine), \"out.nii.gz\")");
  failToRead(path,
             "the axes of its sform are not perpendicular, and it has no qform: the NIfTI library takes no "
             "such grid",
             "a file whose axes are perpendicular: the image resampled in the program that made it, or the "
             "original series, as mha or nrrd");
}

std::string noteOnNiftiForms(const ImageHeader& header)
{
  const std::optional<NiftiHeader> file = namedNifti(header.path);
  if (file && (!file->isNifti() || (!file->qform() && !file->sform())))
    return header.path + ": its header does not say where the image lies ("
           + (file->isNifti() ? "qform_code and sform_code are 0" : "Analyze")
           + "): place and orientation are a convention, that of ITK, and other programs may have another";
  if (!file || !file->qform() || !file->sform())
    return "";
  const AffineMap<3> qform = *file->qform(), sform = *file->sform();
  double largestMm = 0, fromQform = 0, fromSform = 0; // at the corners
  for (int corner = 0; corner < 8; ++corner) {
    Vec<3> index{}, usedMm{};
    for (int d = 0; d < header.dimension; ++d)
      index[d] = corner >> d & 1 ? static_cast<double>(header.size[d] - 1) : 0;
    for (int row = 0; row < header.dimension; ++row) {
      usedMm[row] = header.originMm[row];
      for (int d = 0; d < header.dimension; ++d)
        usedMm[row] += header.direction[row][d] * header.spacingMm[d] * index[d];
    }
    const Vec<3> qformMm = qform(index), sformMm = sform(index);
    for (int row = 0; row < header.dimension; ++row) {
      const double inRas = row < 2 ? -usedMm[row] : usedMm[row];
      largestMm = std::max(largestMm, std::abs(qformMm[row] - sformMm[row]));
      fromQform = std::max(fromQform, std::abs(qformMm[row] - inRas));
      fromSform = std::max(fromSform, std::abs(sformMm[row] - inRas));
    }
  }
  constexpr double tolerated = 1e-3; // share of a voxel: both are rounded numbers
  if (!(largestMm > tolerated * std::ranges::min(header.spacingMm)))
    return "";
  const bool isQform = fromQform < fromSform;
  return header.path + ": its header places the voxels twice, by a qform and an sform, which differ by up to "
         + shortText(largestMm) + " mm; the " + (isQform ? "qform" : "sform")
         + " is used, as by ITK, and other programs may take the " + (isQform ? "sform" : "qform");
}

bool isNifti2(const std::string& path)
{
  constexpr unsigned headerBytes = 540;
  const GzipFile file(gzopen(headerFileOf(path).c_str(), "rb"), gzclose);
  std::array<unsigned char, 8> start{};
  if (!file || gzread(file.get(), start.data(), start.size()) != static_cast<int>(start.size()))
    return false;
  const auto at = [&](std::size_t i, std::size_t shift) { return static_cast<unsigned>(start[i]) << shift; };
  const unsigned little = at(0, 0) | at(1, 8) | at(2, 16) | at(3, 24),
                 big = at(3, 0) | at(2, 8) | at(1, 16) | at(0, 24);
  const bool isNamed = std::memcmp(&start[4], "n+2", 4) == 0 || std::memcmp(&start[4], "ni2", 4) == 0;
  return isNamed && (little == headerBytes || big == headerBytes);
}

std::optional<VoxelPlace> niftiVoxels(const std::string& path)
{
  if (!hasEnding(path, ".nii") && !hasEnding(path, ".nii.gz"))
    return std::nullopt;
  NiftiHeader header;
  return header.read(path) ? header.plainVoxels(path) : std::nullopt;
}

}
