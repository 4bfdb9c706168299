#include "Core/Image/Files/ImageWriter.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/FileChecks/WholeFile.h"
#include "Core/Image/Files/Decoder.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageStream.h"

namespace tessera {

void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress,
                 int threads)
{
  const std::string format = formatOf(path);
  checkWritable(format.empty() ? path.substr(path.find_last_of("./") + 1) : format, header.dimension,
                header.componentType, header.components);
  if (ImageStream::writes(format, header)) {
    ImageStream stream(path, header, compress, threads);
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
