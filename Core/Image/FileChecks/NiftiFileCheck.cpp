#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/FileChecks/NiftiHeader.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// The file of a pair with this ending, .hdr or .img, compressed or not.
fs::path ofPair(const fs::path& path, const std::string& ending)
{
  const fs::path stem = path.parent_path() / (path.extension() == ".gz" ? path.stem().stem() : path.stem());
  const fs::path plain = stem.string() + ending, compressed = plain.string() + ".gz";
  return fs::exists(plain) || !fs::exists(compressed) ? plain : compressed;
}

fs::path headerFileOf(const std::string& path)
{
  return path.ends_with(".img") || path.ends_with(".img.gz") ? ofPair(path, ".hdr") : fs::path(path);
}

std::optional<NiftiHeader> namedNifti(const FileHead& file)
{
  NiftiHeader header;
  bool isNamed = false;
  for (const char* ending : {".nii", ".nii.gz", ".hdr", ".img", ".hdr.gz", ".img.gz"})
    isNamed = isNamed || hasEnding(file.path, ending);
  const fs::path path = headerFileOf(file.path);
  const bool isApart = path != fs::path(file.path);
  isNamed = isNamed && (!isApart || fs::exists(path));
  return isNamed && header.read(isApart ? FileHead(path) : file) ? std::optional(header) : std::nullopt;
}

/// Empty: other programs place the voxels there, too.
std::string noteOnForms(const NiftiHeader& file, const ImageHeader& header)
{
  const NiftiForms forms = file.forms();
  if (!file.isNifti() || (forms.qformCode <= 0 && forms.sformCode <= 0))
    return header.path + ": its header does not say where the image lies ("
           + (file.isNifti() ? "qform_code and sform_code are 0" : "Analyze")
           + "): place and orientation are a convention, that of ITK, and other programs may have another"
           + (file.isNifti() || file.valueScaling().slope == 1
                  ? ""
                  : "; the scale of SPM, " + shortText(file.valueScaling().slope) + ", is not applied");
  if (forms.qformCode <= 0 || forms.sformCode <= 0)
    return "";
  const NiftiMatrix qform = niftiQform(forms);
  const int axes = std::min(header.dimension, 3);
  double largestMm = 0, fromQform = 0, fromSform = 0; // at the corners
  for (int corner = 0; corner < 8; ++corner) {
    Vec<3> index{}, usedMm{};
    for (int d = 0; d < axes; ++d)
      index[d] = corner >> d & 1 ? static_cast<double>(header.size[d] - 1) : 0;
    for (int row = 0; row < axes; ++row) {
      usedMm[row] = header.originMm[row];
      for (int d = 0; d < axes; ++d)
        usedMm[row] += header.direction[row][d] * header.spacingMm[d] * index[d];
    }
    const auto placeMm = [&](const std::array<float, 4>& row) {
      return file.mmOfUnit() * (row[0] * index[0] + row[1] * index[1] + row[2] * index[2] + row[3]);
    };
    for (int row = 0; row < axes; ++row) {
      const double inRas = row < 2 ? -usedMm[row] : usedMm[row];
      const double qformMm = placeMm(qform[row]), sformMm = placeMm(forms.srow[row]);
      largestMm = std::max(largestMm, std::abs(qformMm - sformMm));
      fromQform = std::max(fromQform, std::abs(qformMm - inRas));
      fromSform = std::max(fromSform, std::abs(sformMm - inRas));
    }
  }
  constexpr double tolerated = 0.1; // share of a voxel: programs round both
  if (!(largestMm > tolerated * std::ranges::min(header.spacingMm)))
    return "";
  const bool isQform = fromQform < fromSform;
  return header.path + ": its header places the voxels twice, by a qform and an sform, which differ by up to "
         + shortText(largestMm) + " mm; the " + (isQform ? "qform" : "sform")
         + " is used, as by ITK, and other programs may take the " + (isQform ? "sform" : "qform");
}

}

ParsedImage parseNifti(const FileHead& file)
{
  const std::string& path = file.path;
  if (path.ends_with(".img.gz") || path.ends_with(".hdr.gz"))
    for (const char* plain : {".img", ".hdr"})
      if (fs::exists(path.substr(0, path.size() - 7) + plain))
        failToRead(path, "the uncompressed file beside it hides it from the NIfTI library",
                   "one of both in a folder");
  NiftiHeader header;
  const fs::path headerPath = headerFileOf(path);
  const bool isApart = headerPath != fs::path(path),
             pair = isApart || path.ends_with(".hdr") || path.ends_with(".hdr.gz");
  if ((isApart && !fs::exists(headerPath)) || !header.read(isApart ? FileHead(headerPath) : file))
    return {};
  if (header.isOfOtherVersion())
    failToRead(path, "its header has the length of NIfTI-1, and the magic word of another version",
               "the magic word n+1 or ni1");
  if (!header.isNifti() && !pair)
    return {};
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
      checkSpacing(path, axis, header.spacing(axis));
  if (const std::optional<float> wrong = header.isNifti() ? header.wrongPlaceNumber() : std::nullopt)
    failToRead(path, "the axes and origin of its header hold " + shortText(*wrong) + ": not a position",
               "numbers of a qform or sform in millimetres");
  const auto [b, c, d] = header.forms().quatern;
  if (constexpr float rounded = 1e-5F;
      header.isNifti() && header.forms().qformCode > 0 && b * b + c * c + d * d > 1 + rounded)
    failToRead(path,
               "the quaternion of its qform, " + shortText(b) + " " + shortText(c) + " " + shortText(d)
                   + ", is no rotation: its squares add up to more than 1",
               "a rotation, or qform_code 0 beside an sform");
  if (const std::string what = header.isNifti() ? header.wronglyScaled() : ""; !what.empty())
    failToRead(path, "its scl_slope and scl_inter scale " + what + ", which its library reads wrongly",
               "colours, complex numbers and vectors that are not scaled");
  const std::optional<VoxelPlace> voxels = header.plainVoxels(file);
  if (const std::string wrong = header.isNifti() ? header.wrongScaling(!voxels) : ""; !wrong.empty())
    failToRead(path, wrong + ": its library scales the voxels otherwise than the standard",
               "finite numbers, and beside a slope of 0 an intercept of 0");
  const fs::path dataPath = header.isOneFile() ? fs::path(path) : ofPair(path, ".img");
  if (!fs::exists(dataPath))
    failToRead(path, "its data file " + dataPath.string() + " is missing",
               "both files of the pair in one folder");
  const auto data = header.isOneFile() ? file.file : std::make_shared<const InputFile>(dataPath.string());
  if (!holdsBytes(*data, header.dataFileBytes()))
    failToRead(path,
               dataPath.string() + " holds less than the " + std::to_string(header.dataFileBytes())
                   + " bytes that its header promises",
               wholeFile);
  std::optional<ImageHeader> image = voxels ? header.imageHeader(path, *voxels) : std::nullopt;
  if (!image)
    return {true, {}, std::nullopt};
  return {true, std::move(*image), voxels};
}

std::string niftiUnit(const FileHead& file)
{
  return namedNifti(file).value_or(NiftiHeader()).unit();
}

void failOnSform(const FileHead& file)
{
  const NiftiHeader header = namedNifti(file).value_or(NiftiHeader());
  const NiftiForms forms = header.forms();
  std::string widthsMm, pixdimMm;
  bool areOthers = false;
  for (int axis = 0; axis < 3 && forms.sformCode > 0; ++axis) {
    const NiftiMatrix& srow = forms.srow;
    const double widthMm = header.mmOfUnit() * std::hypot(srow[0][axis], srow[1][axis], srow[2][axis]),
                 saidMm = header.mmOfUnit() * header.spacing(axis);
    areOthers = areOthers || !(std::abs(widthMm - saidMm) <= 1e-4 * widthMm);
    widthsMm += " " + shortText(widthMm);
    pixdimMm += " " + shortText(saidMm);
  }
  if (areOthers)
    failToRead(file.path,
               "by its sform the voxels are" + widthsMm + " mm wide, by its pixdim" + pixdimMm
                   + " mm, and it has no qform that decides",
               "pixdim with the lengths of the sform's columns, as nibabel writes them: i = nib.load(\""
                   + fs::path(file.path).filename().string()
                   + "\"); nib.save(nib.Nifti1Image(i.dataobj, i.affine), \"out.nii.gz\")");
  failToRead(file.path,
             "its sform has voxels below 0.03 mm or axes that are not perpendicular, and it has no qform: "
             "the NIfTI library, which reads colours and series, takes no such grid",
             "one volume of one number a voxel, or perpendicular axes in a qform, too: i = nib.load(\""
                 + fs::path(file.path).filename().string()
                 + "\"); i.set_qform(i.affine); nib.save(i, \"out.nii.gz\")");
}

bool hasOneTime(const FileHead& file)
{
  if (const std::optional<NiftiHeader> nifti = namedNifti(file))
    return nifti->axes() == 4 && nifti->size(3) == 1;
  for (const std::string key : {"DimSize =", "\nsizes:"})
    if (std::size_t first = file.bytes.find(key); first != std::string::npos) {
      first += key.size();
      const std::vector<std::string> sizes =
          wordsOf(std::string_view(file.bytes).substr(first, file.bytes.find('\n', first) - first));
      return sizes.size() == 4 && sizes.back() == "1";
    }
  return false;
}

std::vector<std::string> notesOnNifti(const FileHead& head, const ImageHeader& header)
{
  std::vector<std::string> notes;
  const std::optional<NiftiHeader> file = namedNifti(head);
  if (const std::string note = file ? noteOnForms(*file, header) : ""; !note.empty())
    notes.push_back(note);
  if (file && header.dimension == 4 && !(file->spacing(3) > 0))
    notes.push_back(header.path + ": its header does not tell how far times are apart (pixdim[4] is "
                    + shortText(file->spacing(3)) + "): " + shortText(header.spacingMm.back())
                    + " is taken, as by ITK");
  return notes;
}

bool isNifti2(const std::string& path)
{
  std::array<unsigned char, 8> bytes{};
  if (!fs::exists(headerFileOf(path)) || !readStart(FileHead(headerFileOf(path)), bytes))
    return false;
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  using namespace std::string_view_literals; // the length of the header, 540, in either order
  return (start.starts_with("\x1c\2\0\0"sv) || start.starts_with("\0\0\2\x1c"sv))
         && (start.ends_with("n+2\0"sv) || start.ends_with("ni2\0"sv));
}

}
