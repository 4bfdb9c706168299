#include "Core/Image/Files/ImageSource.h"

#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/TiffFile.h"
#include "Core/Image/Files/DicomSeries.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageProcess.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/ItkSupport.h"
#include "Core/Image/Files/LengthsInMm.h"

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
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

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

itk::ImageIOBase::Pointer readerFor(const std::string& path)
{
  using Finder = itk::ImageIOBase::Pointer (*)(const std::string&);
  constexpr Finder finders[] = {
      readerIfKnown<itk::NiftiImageIO>, readerIfKnown<itk::MetaImageIO>, readerIfKnown<itk::NrrdImageIO>,
      readerIfKnown<itk::GiplImageIO>,  readerIfKnown<itk::PNGImageIO>,  readerIfKnown<itk::JPEGImageIO>,
      readerIfKnown<itk::TIFFImageIO>,  readerIfKnown<itk::BMPImageIO>,  readerIfKnown<itk::VTKImageIO>,
      readerIfKnown<itk::HDF5ImageIO>,  readerIfKnown<itk::GDCMImageIO>};
  for (const Finder finder : finders)
    if (const itk::ImageIOBase::Pointer io = finder(path))
      return io;
  return {};
}

/// A folder with nothing but a symbolic link to the file, if a.nii and a.nii.gz lie in one folder: there the
/// NIfTI library would read the voxels of a.nii as those of a.nii.gz.
class OwnFolder {
public:
  explicit OwnFolder(const std::string& path) : path_(path)
  {
    const std::string compressed = ".nii.gz";
    if (!path.ends_with(compressed) || !fs::exists(path.substr(0, path.size() - 3)))
      return;
    try {
      folder_.emplace("tessera-link-");
      path_ = *folder_ / ("image" + compressed);
      fs::create_symlink(fs::absolute(path), path_);
    } catch (const std::system_error& error) {
      failToRead(path,
                 "the file beside it without .gz hides it from the NIfTI library, and no link to it can be "
                 "made in a folder for "
                 "temporary files ("
                     + error.code().message() + ")",
                 "one of both files in a folder, or a writable folder in TMPDIR");
    }
  }

  const std::string& path() const { return path_; }

private:
  std::optional<ScratchFolder> folder_;
  std::string path_;
};

/// Opens `link`; messages call it `path`.
itk::ImageIOBase::Pointer openItk(const std::string& path, const std::string& link)
{
  const std::string readable = "an image file that exists and may be read: " + readableFormats();
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    failToRead(path, "no such file", readable);
  if (!std::ifstream(path))
    failToRead(path, "the file cannot be opened", readable);
  if (hasEnding(path, ".mgz") || hasEnding(path, ".mgh"))
    failToRead(path, "FreeSurfer's format MGH is not read",
               "a NIfTI file, which FreeSurfer writes: mri_convert " + fs::path(path).filename().string()
                   + " " + fs::path(path).stem().string() + ".nii.gz");
  const bool isKnownNifti = checkNiftiFile(path), isKnownMetaImage = checkMetaImageFile(path),
             isKnownNrrd = checkNrrdFile(path), isKnownVtk = checkVtkFile(path);
  checkPictureFile(path);
  try {
    const itk::ImageIOBase::Pointer io = readerFor(link);
    if (!io && isNifti2(path))
      failToRead(path, "it is NIfTI-2, which is not read",
                 "NIfTI-1, or another image file: " + readableFormats());
    if (!io)
      failToRead(path, "not an image of a format that is known", readable);
    if ((dynamic_cast<const itk::NiftiImageIO*>(io.GetPointer()) && !isKnownNifti)
        || (dynamic_cast<const itk::MetaImageIO*>(io.GetPointer()) && !isKnownMetaImage)
        || (dynamic_cast<const itk::NrrdImageIO*>(io.GetPointer()) && !isKnownNrrd)
        || (dynamic_cast<const itk::VTKImageIO*>(io.GetPointer()) && !isKnownVtk))
      failToRead(path, "its header is not understood", readable);
    io->SetFileName(link);
    io->ReadImageInformation();
    return io;
  } catch (const itk::ExceptionObject& exception) {
    if (isKnownNifti && itkMessage(exception).find("orthonormal") != std::string::npos)
      failOnSform(path);
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

std::optional<VoxelPlace> placeOfVoxels(const itk::ImageIOBase& io, const std::string& path)
{
  return dynamic_cast<const itk::NiftiImageIO*>(&io)  ? niftiVoxels(path)
         : dynamic_cast<const itk::NrrdImageIO*>(&io) ? nrrdVoxels(path)
                                                      : metaImageVoxels(path);
}

PixelType valueType(const VoxelPlace& voxels)
{
  return voxels.scaling.isScaled() && voxels.type != PixelType::float64 ? PixelType::float32 : voxels.type;
}

/// The header of a file. Corrects that of a NIfTI displacement field, which ITK before 5.4 reads as scalars
/// on five axes.
ImageHeader headerOf(const itk::ImageIOBase& io, const std::string& path,
                     const std::optional<VoxelPlace>& voxels)
{
  ImageHeader header = headerFromItk(io, path);
  if (voxels && (voxels->scaling.isScaled() || dynamic_cast<const itk::NiftiImageIO*>(&io)))
    header.componentType = valueType(*voxels); // ITK scales by other rules, or not at all
  if (!voxels || voxels->components == 1 || header.components > 1)
    return header;
  header = withFirstAxes(std::move(header), header.size[2] > 1 ? 3 : 2);
  header.components = voxels->components;
  header.meaning = PixelMeaning::vector;
  return header;
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

std::uint64_t valueCount(const VoxelPlace& voxels)
{
  return voxels.byteCount / pixelTypeSize(voxels.type);
}

/// An image whose voxels lie in a file so that no library is needed for them.
class PlacedSource final : public ImageSource {
public:
  PlacedSource(ImageHeader header, VoxelPlace voxels)
      : ImageSource(std::move(header)), voxels_(std::move(voxels))
  {
    header_.typeInFile = voxels_.type;
    header_.hasRanges = true;
    header_.isReadWhole = voxels_.apart;
  }

  using ImageSource::read;

  void read(const VoxelConsumer& consumer, int threads, std::vector<std::string>& notes) override
  {
    if (header().isReadWhole)
      ImageSource::read(consumer, threads, notes);
    else if (voxels_.scaling.isScaled())
      readScaled(consumer, threads);
    else
      readVoxels(voxels_, header().path, threads, consumer);
  }

  const VoxelPlace* place() const override { return &voxels_; }

  void read(std::byte* buffer, int threads, std::vector<std::string>&) override
  {
    if (!voxels_.scaling.isScaled())
      return readVoxels(voxels_, header().path, threads, buffer);
    readScaled(
        [&](std::uint64_t firstByte, std::span<const std::byte> bytes) {
          std::memcpy(buffer + firstByte, bytes.data(), bytes.size());
        },
        threads);
  }

private:
  /// Passes the scaled values on in pieces that are small enough for the caches.
  void readScaled(const VoxelConsumer& consumer, int threads) const
  {
    withPixelType(voxels_.type, [&]<class T>(std::type_identity<T>) {
      using Value = ValueScaling::Value<T>;
      readVoxels(
          voxels_, header().path, threads, [&](std::uint64_t firstByte, std::span<const std::byte> bytes) {
            const std::span numbers(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
            std::vector<Value> values(std::min(numbers.size(), convertedAtOnce));
            for (std::size_t first = 0; first < numbers.size(); first += values.size()) {
              const std::span piece = numbers.subspan(first, std::min(values.size(), numbers.size() - first));
              std::transform(piece.begin(), piece.end(), values.begin(), voxels_.scaling);
              consumer((firstByte / sizeof(T) + first) * sizeof(Value),
                       std::as_bytes(std::span(values).first(piece.size())));
            }
          });
    });
  }

  VoxelPlace voxels_;
};

/// An image that only ITK can read.
class ItkSource final : public ImageSource {
public:
  ItkSource(ImageHeader header, std::unique_ptr<OwnFolder> place, itk::ImageIOBase::Pointer io)
      : ImageSource(std::move(header)), place_(std::move(place)), io_(std::move(io))
  {
    checkGiplLength(*io_, this->header());
  }

  using ImageSource::read;

  void read(std::byte* buffer, int, std::vector<std::string>&) override
  {
    const auto lock = lockItkFiles();
    try {
      askForAllVoxels(*io_);
      io_->Read(buffer);
    } catch (const std::exception& exception) {
      failToRead(header().path, "the voxels cannot be read: " + itkMessage(exception), wholeFile);
    }
  }

private:
  std::unique_ptr<OwnFolder> place_;
  itk::ImageIOBase::Pointer io_;
};

/// A TIFF file whose pixels ITK would read as others.
class TiffSource final : public ImageSource {
public:
  TiffSource(ImageHeader header, std::unique_ptr<TiffFile> file)
      : ImageSource(std::move(header)), file_(std::move(file))
  {
  }

  using ImageSource::read;

  void read(std::byte* buffer, int, std::vector<std::string>&) override
  {
    readTiffPixels(*file_, header().path, buffer);
  }

private:
  std::unique_ptr<TiffFile> file_;
};

/// `header` is ITK's, of which the geometry is right.
std::unique_ptr<ImageSource> openTiff(ImageHeader header, std::unique_ptr<TiffFile> file,
                                      const TiffPixels& pixels)
{
  const std::uint64_t slices = header.dimension == 3 ? header.size[2] : 1;
  if (header.dimension > 3 || header.size[0] != pixels.width || header.size[1] != pixels.height
      || slices != pixels.slices)
    failToRead(header.path, "its slices are not understood", "slices of one size and type of pixels");
  header.components = 1;
  header.meaning = PixelMeaning::scalar;
  header.componentType = header.typeInFile = pixels.type;
  return std::make_unique<TiffSource>(std::move(header), std::move(file));
}

std::unique_ptr<ImageSource> openFile(const std::string& path, const ReadingOptions& reading)
{
  auto place = std::make_unique<OwnFolder>(path);
  const itk::ImageIOBase::Pointer io = openItk(path, place->path());
  if (dynamic_cast<const itk::GDCMImageIO*>(io.GetPointer()))
    return openDicom(headerFromItk(*io, path), dicomSeriesOf(path, reading));
  std::string turned = isPicture(*io) ? noteOnExif(path) : "";
  if (dynamic_cast<const itk::TIFFImageIO*>(io.GetPointer())) {
    auto tiff = std::make_unique<TiffFile>(path);
    for (const TiffPicture& picture : tiff->pictures())
      if (picture.orientation > 1)
        turned = path + ": its Orientation, " + std::to_string(picture.orientation)
                 + ", is applied: rows run from the top and pixels from the left";
    if (const std::optional<TiffPixels> pixels = tiffPixels(*tiff)) {
      std::unique_ptr<ImageSource> source = openTiff(
          withGivenSpacing(headerFromItk(*io, path), *io, reading.pixelSpacingMm), std::move(tiff), *pixels);
      source->addNote(turned);
      return source;
    }
  }
  const std::optional<VoxelPlace> voxels = placeOfVoxels(*io, path);
  ImageHeader header = withGivenSpacing(headerOf(*io, path, voxels), *io, reading.pixelSpacingMm);
  convertToMm(header);
  if (!turned.empty())
    header.notes.push_back(turned);
  const std::uint64_t values = static_cast<std::uint64_t>(extentCount(header.size)) * header.components;
  // otherwise ITK converts the values in a way that our reader does not
  if (voxels && valueType(*voxels) == header.componentType && valueCount(*voxels) == values)
    return makePlacedSource(std::move(header), *voxels);
  return std::make_unique<ItkSource>(std::move(header), std::move(place), io);
}

std::unique_ptr<ImageSource> openFolder(const std::string& path, const ReadingOptions& reading)
{
  DicomSeries series = dicomSeriesOf(path, reading);
  const std::string& first = series.slices.front().file;
  return openDicom(headerFromItk(*openItk(first, first), path), std::move(series));
}

/// The absolute value of the determinant divided by the product of the columns' lengths, by elimination.
double relativeDeterminant(std::vector<std::vector<double>> m)
{
  const std::size_t n = m.size();
  double result = 1;
  for (std::size_t j = 0; j < n; ++j) {
    double length2 = 0;
    for (std::size_t i = 0; i < n; ++i)
      length2 += m[i][j] * m[i][j];
    result /= std::sqrt(length2);
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k]))
        pivot = i;
    std::swap(m[k], m[pivot]);
    result *= m[k][k];
    for (std::size_t i = k + 1; i < n; ++i)
      for (std::size_t j = n; j-- > k;)
        m[i][j] -= m[i][k] / m[k][k] * m[k][j];
  }
  return std::abs(result);
}

}

void ImageSource::read(const VoxelConsumer& consumer, int threads, std::vector<std::string>& notes)
{
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(byteCount());
  read(bytes.get(), threads, notes);
  forEachRange(Context{{}, threads}, byteCount(), std::size_t(1) << 20,
               [&](std::size_t first, std::size_t last) {
                 consumer(first, {bytes.get() + first, last - first});
               });
}

void checkGeometry(const ImageHeader& header)
{
  for (int axis = 0; axis < header.dimension; ++axis) {
    const std::string onAxis = " on axis " + std::to_string(axis);
    if (header.size[axis] == 0)
      failToRead(header.path, "size 0" + onAxis + ": the image has no voxels",
                 "at least one voxel on each axis");
    checkSpacing(header.path, axis, header.spacingMm[axis]);
    if (!std::isfinite(header.originMm[axis]))
      failToRead(header.path, "origin " + shortText(header.originMm[axis]) + onAxis + ": not a position",
                 "finite numbers");
  }
  constexpr double parallel = 1e-6; // sine of the smallest angle between axes; headers round to float
  if (!(relativeDeterminant(header.direction) > parallel)) {
    std::string matrix;
    for (const std::vector<double>& row : header.direction)
      for (double value : row)
        matrix.append(" ").append(shortText(value));
    failToRead(header.path, "direction" + matrix + ": the matrix is singular", "axes that are not parallel");
  }
}

std::unique_ptr<ImageSource> makePlacedSource(ImageHeader header, VoxelPlace voxels)
{
  return std::make_unique<PlacedSource>(std::move(header), std::move(voxels));
}

std::unique_ptr<ImageSource> openImageHere(const std::string& path, const ReadingOptions& reading)
{
  const auto lock = lockItkFiles();
  std::error_code ignored;
  if (fs::is_fifo(path, ignored) || fs::is_socket(path, ignored) || fs::is_character_file(path, ignored))
    failToRead(path, "this is no file but a pipe, which cannot be read at any place", "an image file");
  std::unique_ptr<ImageSource> source =
      dicomPlace(path) ? openFolder(path, reading) : openFile(path, reading);
  checkGeometry(source->header());
  source->addNote(noteOnPixelSpacing(source->header(), reading));
  source->addNote(noteOnNiftiForms(source->header()));
  source->addNote(noteOnFewBits(source->header().path));
  return source;
}

std::unique_ptr<ImageSource> openImage(const std::string& path, const ReadingOptions& reading)
{
  return ImageProcess::isRunning() ? ImageProcess::open(path, reading) : openImageHere(path, reading);
}

}
