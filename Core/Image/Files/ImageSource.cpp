#include "Core/Image/Files/ImageSource.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/Decoder.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/LengthsInMm.h"

#include <vnl/algo/vnl_determinant.h>
#include <vnl/vnl_matrix.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tessera {
namespace {

/// An image whose header one of our parsers knows whole; else null.
std::unique_ptr<ImageSource> openPlaced(const std::string& path)
{
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) // opening a pipe would wait for its writer
    return {};
  const FileHead head(path);
  for (const auto parse : {parseNifti, parseMetaImage, parseNrrd})
    if (ParsedImage image = parse(head); image.voxels) {
      convertToMm(head, image.header);
      checkGeometry(image.header);
      const std::uint64_t end = image.voxels->offset + image.voxels->byteCount,
                          length = std::filesystem::file_size(image.voxels->path, ignored);
      if (image.voxels->encoding == FileEncoding::plain && !ignored && length > end)
        image.header.notes.push_back(path + ": " + std::to_string(length - end)
                                     + " bytes lie behind the voxels that its header promises: does it say "
                                       "the right size, type and first byte?");
      std::ranges::move(notesOnNifti(head, image.header), std::back_inserter(image.header.notes));
      return std::make_unique<ImageSource>(std::move(image.header), std::move(*image.voxels));
    }
  return {};
}

/// The absolute value of the determinant divided by the product of the columns' lengths.
double relativeDeterminant(const std::vector<std::vector<double>>& rows)
{
  const auto n = static_cast<unsigned>(rows.size());
  vnl_matrix<double> matrix(n, n);
  for (unsigned i = 0; i < n; ++i)
    std::ranges::copy(rows[i], matrix[i]);
  return std::abs(vnl_determinant(matrix.normalize_columns()));
}

}

ImageSource::ImageSource(ImageHeader header, VoxelPlace place)
    : header_(std::move(header)), place_(std::move(place))
{
  header_.typeInFile = place_->type;
  header_.hasRanges = true;
  header_.isReadWhole = place_->apart;
}

void ImageSource::read(std::byte* buffer, int threads) const
{
  if (place_ && !place_->scaling.isScaled())
    return readVoxels(*place_, header_.path, threads, buffer);
  read(
      [buffer](std::uint64_t first, std::span<const std::byte> bytes) {
        std::memcpy(buffer + first, bytes.data(), bytes.size());
      },
      threads);
}

void ImageSource::read(const VoxelConsumer& consumer, int threads) const
{
  if (!place_)
    return readAll_(consumer, threads);
  if (place_->scaling.isScaled())
    return readScaled(consumer, threads);
  if (!place_->apart)
    return readVoxels(*place_, header_.path, threads, consumer);
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(byteCount());
  read(bytes.get(), threads);
  passInPieces({bytes.get(), byteCount()}, threads, consumer);
}

/// Passes the scaled values on in pieces that are small enough for the caches.
void ImageSource::readScaled(const VoxelConsumer& consumer, int threads) const
{
  withPixelType(place_->type, [&]<class T>(std::type_identity<T>) {
    using Value = ValueScaling::Value<T>;
    readVoxels(
        *place_, header_.path, threads, [&](std::uint64_t firstByte, std::span<const std::byte> bytes) {
          const std::span numbers(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
          std::vector<Value> values(std::min(numbers.size(), convertedAtOnce));
          for (std::size_t first = 0; first < numbers.size(); first += values.size()) {
            const std::span piece = numbers.subspan(first, std::min(values.size(), numbers.size() - first));
            std::transform(piece.begin(), piece.end(), values.begin(), place_->scaling);
            consumer((firstByte / sizeof(T) + first) * sizeof(Value),
                     std::as_bytes(std::span(values).first(piece.size())));
          }
        });
  });
}

void passInPieces(std::span<const std::byte> bytes, int threads, const VoxelConsumer& consumer)
{
  forEachRange(
      Context{{}, threads}, bytes.size(), std::size_t(1) << 20,
      [&](std::size_t first, std::size_t last) { consumer(first, bytes.subspan(first, last - first)); });
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

std::unique_ptr<ImageSource> openImage(const std::string& path, const ReadingOptions& reading)
{
  if (std::unique_ptr<ImageSource> source = openPlaced(path))
    return source;
  return decodeImage(path, reading);
}

}
