#include "Tools/Decode/ItkImage.h"

#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/LengthsInMm.h"
#include "Tools/Decode/ItkSupport.h"
#include "Tools/Decode/PictureFileCheck.h"
#include "Tools/Decode/TiffFile.h"

#include <itkBMPImageIO.h>
#include <itkGDCMImageIO.h>
#include <itkGiplImageIO.h>
#include <itkHDF5ImageIO.h>
#include <itkJPEGImageIO.h>
#include <itkMetaImageIO.h>
#include <itkNiftiImageIO.h>
#include <itkNrrdImageIO.h>
#include <itkPNGImageIO.h>
#include <itkTIFFImageIO.h>
#include <itkVTKImageIO.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// A reader of this format, or null if the file is of another format.
template <class ItkIO>
itk::ImageIOBase::Pointer readerIfKnown(const std::string& path)
{
  const typename ItkIO::Pointer io = ItkIO::New();
  return io->CanReadFile(path.c_str()) ? itk::ImageIOBase::Pointer(io) : itk::ImageIOBase::Pointer();
}

/// The NIfTI library takes a.png for NIfTI if a.png.nii lies beside it.
itk::ImageIOBase::Pointer readerFor(const std::string& path, bool isNifti)
{
  using Finder = itk::ImageIOBase::Pointer (*)(const std::string&);
  constexpr Finder finders[] = {readerIfKnown<itk::MetaImageIO>, readerIfKnown<itk::NrrdImageIO>,
                                readerIfKnown<itk::GiplImageIO>, readerIfKnown<itk::PNGImageIO>,
                                readerIfKnown<itk::JPEGImageIO>, readerIfKnown<itk::TIFFImageIO>,
                                readerIfKnown<itk::BMPImageIO>,  readerIfKnown<itk::VTKImageIO>,
                                readerIfKnown<itk::HDF5ImageIO>, readerIfKnown<itk::GDCMImageIO>};
  if (isNifti)
    return readerIfKnown<itk::NiftiImageIO>(path);
  for (const Finder finder : finders)
    if (const itk::ImageIOBase::Pointer io = finder(path))
      return io;
  return {};
}

/// A folder with nothing but a symbolic link to the file, where a library needs another name. If a.nii and
/// a.nii.gz lie in one folder, the NIfTI library would read the voxels of a.nii as those of a.nii.gz. ITK
/// knows GIPL by the ending in small letters alone.
class OwnFolder {
public:
  explicit OwnFolder(const std::string& path) : path_(path)
  {
    const bool isHidden = path.ends_with(".nii.gz") && fs::exists(path.substr(0, path.size() - 3));
    for (const std::string ending : {".nii.gz", ".gipl", ".gipl.gz"})
      if (hasEnding(path, ending) && (isHidden || (ending != ".nii.gz" && !path.ends_with(ending))))
        link(path, "image" + ending);
  }

  const std::string& path() const { return path_; }

private:
  void link(const std::string& path, const std::string& name)
  try {
    folder_.emplace("tessera-link-");
    path_ = *folder_ / name;
    fs::create_symlink(fs::absolute(path), path_);
  } catch (const std::system_error& error) {
    failToRead(path,
               "it is read by the name " + name
                   + ", and no link with that name can be made in a folder for temporary files ("
                   + error.code().message() + ")",
               "a writable folder in TMPDIR");
  }

  std::optional<ScratchFolder> folder_;
  std::string path_;
};

/// Opens `link`; messages call it `path`.
itk::ImageIOBase::Pointer openItk(const std::string& path, const std::string& link,
                                  bool framesAreSlices = false)
{
  const std::string readable = "an image file that exists and may be read: " + readableFormats();
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    failToRead(path, "no such file", readable);
  if (access(path.c_str(), R_OK) != 0)
    failToRead(path, "the file cannot be opened", readable);
  static constexpr std::array<const char*, 3> others[] = {
      {".mgz", "FreeSurfer", "mri_convert"}, {".mgh", "FreeSurfer", "mri_convert"},
      {".mif", "MRtrix", "mrconvert"},       {".mif.gz", "MRtrix", "mrconvert"},
      {".mnc", "MINC", "mnc2nii"},           {".head", "AFNI", "3dAFNItoNIFTI"},
      {".brik", "AFNI", "3dAFNItoNIFTI"}};
  for (const auto& [ending, program, converter] : others)
    if (hasEnding(path, ending))
      failToRead(path, std::string("the format ") + ending + " of " + program + " is not read",
                 std::string("a NIfTI file, which ") + converter + " makes of it");
  const FileHead head(path);
  const bool isKnownNifti = parseNifti(head).isKnown, isKnownMetaImage = parseMetaImage(head).isKnown,
             isKnownNrrd = parseNrrd(head).isKnown, isKnownVtk = checkVtkFile(path);
  checkPictureFile(path, framesAreSlices);
  constexpr std::size_t dicomPreamble = 128;
  if (bytesOfFile(path, dicomPreamble, 4) == "DICM")
    checkForGdcm(path);
  try {
    const itk::ImageIOBase::Pointer io = readerFor(link, isKnownNifti);
    if (!io && isNifti2(path))
      failToRead(path, "it is NIfTI-2, which is not read",
                 "NIfTI-1, or another image file: " + readableFormats());
    if (!io)
      failToRead(path,
                 fs::is_empty(path, ignored) ? "the file is empty" : "not an image of a format that is known",
                 readable);
    if ((dynamic_cast<const itk::MetaImageIO*>(io.GetPointer()) && !isKnownMetaImage)
        || (dynamic_cast<const itk::NrrdImageIO*>(io.GetPointer()) && !isKnownNrrd)
        || (dynamic_cast<const itk::VTKImageIO*>(io.GetPointer()) && !isKnownVtk))
      failToRead(path, "its header is not understood", readable);
    io->SetFileName(link);
    io->ReadImageInformation();
    return io;
  } catch (const itk::ExceptionObject& exception) {
    if (isKnownNifti && itkMessage(exception).find("orthonormal") != std::string::npos)
      failOnSform(head);
    failToRead(path, "the image's header cannot be read: " + itkMessage(exception),
               "a whole and valid header");
  }
}

/// Throws if a GIPL file is cut off, which ITK does not report.
void checkGiplLength(const itk::ImageIOBase& io, const ImageHeader& header)
{
  constexpr std::uint64_t headerBytes = 256;
  if (!dynamic_cast<const itk::GiplImageIO*>(&io))
    return;
  const std::uint64_t needed = headerBytes + static_cast<std::uint64_t>(io.GetImageSizeInBytes());
  if (!holdsBytes(header.path, needed))
    failToRead(header.path,
               "the file holds less than the " + std::to_string(needed) + " bytes that its header promises",
               wholeFile);
}

bool isPicture(const itk::ImageIOBase& io)
{
  const std::string format = io.GetNameOfClass();
  return format == "JPEGImageIO" || format == "PNGImageIO" || format == "TIFFImageIO"
         || format == "BMPImageIO";
}

/// Replaces the spacing of a picture by the one that the user gave.
ImageHeader withGivenSpacing(ImageHeader header, const itk::ImageIOBase& io, const std::vector<double>& given)
{
  if (!given.empty() && isPicture(io)) {
    if (given.size() > 1 && given.size() != header.spacingMm.size())
      failToRead(header.path,
                 "it has " + std::to_string(header.spacingMm.size()) + " axes, and --pixel-spacing "
                     + std::to_string(given.size()) + " numbers",
                 "one number for all axes, or one for each");
    for (std::size_t axis = 0; axis < header.spacingMm.size(); ++axis)
      header.spacingMm[axis] = given[given.size() == 1 ? 0 : axis];
  }
  return header;
}

/// Changes ITK's header of a TIFF file, of which the geometry is right, to that of its pixels.
void setPixels(ImageHeader& header, const TiffFile& tiff)
{
  const TiffPicture& first = tiff.pictures().front();
  const std::size_t slices = header.dimension == 3 ? header.size[2] : 1;
  if (header.dimension > 3 || header.size[0] != first.width || header.size[1] != first.height
      || slices != tiff.pictures().size())
    failToRead(header.path, "its slices are not understood", "slices of one size and type of pixels");
  header.components = 1;
  header.meaning = PixelMeaning::scalar;
  header.componentType = header.typeInFile = *tiff.ownType();
}

DecodedImage openFile(const std::string& path, const ReadingOptions& reading)
{
  const auto place = std::make_shared<OwnFolder>(path);
  const itk::ImageIOBase::Pointer io = openItk(path, place->path(), reading.framesAreSlices);
  if (dynamic_cast<const itk::GDCMImageIO*>(io.GetPointer()))
    return openDicom(headerFromItk(*io, path), dicomSeriesOf(path, reading));
  DecodedImage image{withGivenSpacing(headerFromItk(*io, path), *io, reading.pixelSpacingMm), {}};
  const bool isTiff = dynamic_cast<const itk::TIFFImageIO*>(io.GetPointer()) != nullptr;
  const auto tiff = isTiff ? std::make_shared<const TiffFile>(path) : nullptr;
  if (tiff && tiff->ownType())
    setPixels(image.header, *tiff);
  if (isPicture(*io))
    std::ranges::move(notesOnPicture(image.header, reading, tiff.get()),
                      std::back_inserter(image.header.notes));
  if (tiff && tiff->ownType()) { // ITK would read them as others
    image.read = [tiff](std::byte* buffer) { tiff->read(buffer); };
    return image;
  }
  convertToMm(FileHead(path), image.header);
  checkGiplLength(*io, image.header);
  image.read = [place, io, path](std::byte* buffer) {
    try {
      askForAllVoxels(*io);
      io->Read(buffer);
    } catch (const std::exception& exception) {
      failToRead(path, "the voxels cannot be read: " + itkMessage(exception), wholeFile);
    }
  };
  return image;
}

DecodedImage openFolder(const std::string& path, const ReadingOptions& reading)
{
  DicomSeries series = dicomSeriesOf(path, reading);
  const std::string& first = series.slices.front().file;
  return openDicom(headerFromItk(*openItk(first, first), path), std::move(series));
}

}

DecodedImage openByItk(const std::string& path, const ReadingOptions& reading)
{
  std::error_code ignored;
  if (fs::is_fifo(path, ignored) || fs::is_socket(path, ignored) || fs::is_character_file(path, ignored))
    failToRead(path, "this is no file but a pipe, which cannot be read at any place", "an image file");
  DecodedImage image = dicomPlace(path) ? openFolder(path, reading) : openFile(path, reading);
  checkGeometry(image.header);
  if (!fs::is_directory(path, ignored) && fs::exists(path, ignored))
    std::ranges::move(notesOnNifti(FileHead(path), image.header), std::back_inserter(image.header.notes));
  return image;
}

}
