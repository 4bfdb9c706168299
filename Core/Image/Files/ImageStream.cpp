#include "Core/Image/Files/ImageStream.h"

#include "Core/Image/FileChecks/WholeFile.h"
#include "Core/Image/Files/Decoder.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageHead.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longestNiftiAxis = 32767;
const std::string sizeKey = "CompressedDataSize = ";
constexpr std::size_t sizeDigits = 20; // digits of the largest 64-bit number

bool isNifti(const std::string& format)
{
  return format == "nii" || format == "nii.gz";
}

bool isMeta(const std::string& format)
{
  return format == "mha" || format == "mhd";
}

std::size_t voxelBytes(const ImageHeader& header)
{
  return header.components * pixelTypeSize(header.componentType);
}

}

bool ImageStream::writes(const std::string& format, const ImageHeader& header)
{
  if (isNifti(format))
    return *std::max_element(header.size.begin(), header.size.end()) <= longestNiftiAxis;
  return isMeta(format) || format == "nrrd";
}

bool ImageStream::interleaves(const std::string& format, const ImageHeader& header)
{
  return header.components == 1 || !isNifti(format);
}

/// Calls an action; std::system_error, such as that of a full disk, becomes Error(unwritableOutput) of this
/// file.
template <class Action>
void ImageStream::orFail(Action&& action)
{
  try {
    action();
  } catch (const std::system_error& error) {
    file_.fail("the image could not be written whole (" + error.code().message() + ")");
  } catch (const std::runtime_error& error) {
    file_.fail("the image cannot be written: " + std::string(error.what()));
  }
}

ImageStream::ImageStream(const std::string& path, const ImageHeader& header, bool compress, int threads,
                         const ChangeHead& changeHead, OutputDigests* digests)
    : header_(header), file_(path), format_(formatOf(path))
{
  orFail([&] {
    open(compress, threads, changeHead);
    const bool endsLast = !isMeta(format_) || (format_ == "mha" && !compresses_);
    if (digests && endsLast)
      isWhole_ = digests->follow(path, file_.temporaryPath());
  });
}

void ImageStream::open(bool compress, int threads, const ChangeHead& changeHead)
{
  const fs::path path = file_.temporaryPath();
  head_ = imageFileHead(format_ == "nii.gz" ? "nii" : format_, header_);
  if (changeHead)
    changeHead(head_);
  EncodedFile::Settings settings{FileEncoding::plain, header_.voxelCount() * voxelBytes(header_), threads};
  std::string voxelPath = path.string(), plainHead = head_;
  if (format_ == "nii.gz") {
    settings = {FileEncoding::gzip, settings.byteCount + head_.size(), threads};
    plainHead.clear();
  } else if (format_ == "nrrd" && compress) {
    settings.encoding = FileEncoding::gzip;
    replaceInHead(plainHead, "encoding: raw\n", "encoding: gzip\n");
  } else if (isMeta(format_) && compress) {
    settings.encoding = FileEncoding::zlib;
    replaceInHead(plainHead, "CompressedData = False\n",
                  "CompressedData = True\n" + sizeKey + std::string(sizeDigits, ' ')
                      + "\n"); // commit() fills it in
    head_ = plainHead;
  }
  if (format_ == "mhd") {
    voxelPath = fs::path(path).replace_extension(compress ? ".zraw" : ".raw").string();
    replaceInHead(head_, "ElementDataFile = LOCAL",
                  "ElementDataFile = " + fs::path(voxelPath).filename().string());
    plainHead.clear();
  }
  compresses_ = settings.encoding != FileEncoding::plain;
  voxels_ = std::make_unique<EncodedFile>(voxelPath, plainHead, settings);
  if (format_ == "nii.gz")
    voxels_->write(std::as_bytes(std::span(head_)));
}

void ImageStream::write(std::span<const std::byte> bytes)
{
  orFail([&] { voxels_->write(bytes); });
}

void ImageStream::writeAll(const std::byte* voxels)
{
  const std::size_t stride = voxelBytes(header_), componentBytes = pixelTypeSize(header_.componentType);
  const std::size_t count = header_.voxelCount();
  if (interleaves(format_, header_)) {
    write({voxels, count * stride});
    return;
  }
  constexpr std::size_t piece = std::size_t(1) << 20; // voxels
  std::vector<std::byte> plane(std::min(piece, count) * componentBytes);
  for (int component = 0; component < header_.components; ++component)
    for (std::size_t first = 0; first < count; first += piece) {
      const std::size_t last = std::min(first + piece, count);
      for (std::size_t i = first; i < last; ++i)
        std::memcpy(&plane[(i - first) * componentBytes], voxels + i * stride + component * componentBytes,
                    componentBytes);
      write(std::span(plane).first((last - first) * componentBytes));
    }
}

void ImageStream::commit()
{
  orFail([&] {
    const std::uint64_t stored = voxels_->finish();
    if (const std::size_t place = head_.find(sizeKey); isMeta(format_) && place != std::string::npos) {
      const std::size_t digits = place + sizeKey.size();
      const std::string number = std::to_string(stored);
      if (format_ == "mha") // readers ignore the blanks behind it
        voxels_->rewrite(digits, number);
      else
        head_.replace(digits, sizeDigits, number);
    }
    voxels_->close();
    if (format_ == "mhd") {
      EncodedFile header(file_.temporaryPath(), head_, {});
      header.finish();
      header.close();
    }
  });
  isWhole_.set_value();
  file_.commit();
}

void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress,
                 int threads, OutputDigests* digests)
{
  const std::string format = formatOf(path);
  checkWritable(format.empty() ? path.substr(path.find_last_of("./") + 1) : format, header.dimension,
                header.componentType, header.components);
  if (ImageStream::writes(format, header)) {
    ImageStream stream(path, header, compress, threads, {}, digests);
    stream.writeAll(static_cast<const std::byte*>(voxels));
    stream.commit();
    return;
  }
  constexpr std::size_t headerRoom = 65536;
  const std::size_t bytes = byteCountOf(header);
  AtomicFile file(path);
  if (format == "jpg" || format == "jpeg" || format == "dcm" || format == "h5" || format == "hdf5")
    file.checkRoom(bytes + headerRoom); // GDCM, HDF5, and libjpeg in ITK, end the program if the disk is full
  encodeImage(file, header, voxels, compress);
  if (!isWholeImageFile(file.temporaryPath(), header, voxels))
    file.fail("the image could not be written whole");
  file.commit();
}

}
