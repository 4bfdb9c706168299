#include "Core/Image/Files/ImageWriter.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/FileChecks/WholeFile.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageStream.h"
#include "Core/Image/Files/ItkSupport.h"

#include <itkBMPImageIO.h>
#include <itkGDCMImageIO.h>
#include <itkGiplImageIO.h>
#include <itkHDF5ImageIO.h>
#include <itkJPEGImageIO.h>
#include <itkMetaDataObject.h>
#include <itkMetaImageIO.h>
#include <itkNiftiImageIO.h>
#include <itkNrrdImageIO.h>
#include <itkPNGImageIO.h>
#include <itkTIFFImageIO.h>
#include <itkVTKImageIO.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace tessera {
namespace {

template <class ItkIO>
itk::ImageIOBase::Pointer make()
{
  return itk::ImageIOBase::Pointer(ItkIO::New());
}

/// ITK's writer of a format that checkWritable accepts.
itk::ImageIOBase::Pointer writerFor(const std::string& format)
{
  static const std::map<std::string, itk::ImageIOBase::Pointer (*)()> makers{
      {"mhd", make<itk::MetaImageIO>},  {"mha", make<itk::MetaImageIO>},  {"nrrd", make<itk::NrrdImageIO>},
      {"nhdr", make<itk::NrrdImageIO>}, {"gipl", make<itk::GiplImageIO>}, {"gipl.gz", make<itk::GiplImageIO>},
      {"vtk", make<itk::VTKImageIO>},   {"tif", make<itk::TIFFImageIO>},  {"tiff", make<itk::TIFFImageIO>},
      {"png", make<itk::PNGImageIO>},   {"jpg", make<itk::JPEGImageIO>},  {"jpeg", make<itk::JPEGImageIO>},
      {"bmp", make<itk::BMPImageIO>},   {"h5", make<itk::HDF5ImageIO>},   {"hdf5", make<itk::HDF5ImageIO>},
      {"dcm", make<itk::GDCMImageIO>}};
  const auto found = makers.find(format);
  return found == makers.end() ? make<itk::NiftiImageIO>() : found->second();
}

itk::IOComponentEnum itkComponent(PixelType type)
{
  using Component = itk::IOComponentEnum;
  constexpr Component components[] = {Component::CHAR,  Component::UCHAR, Component::SHORT, Component::USHORT,
                                      Component::INT,   Component::UINT,  Component::LONG,  Component::ULONG,
                                      Component::FLOAT, Component::DOUBLE};
  return components[static_cast<int>(type)];
}

void describe(itk::ImageIOBase& io, const ImageHeader& header)
{
  io.SetNumberOfDimensions(header.dimension);
  for (int axis = 0; axis < header.dimension; ++axis) {
    io.SetDimensions(axis, header.size[axis]);
    io.SetSpacing(axis, header.spacingMm[axis]);
    io.SetOrigin(axis, header.originMm[axis]);
    std::vector<double> column;
    for (int row = 0; row < header.dimension; ++row)
      column.push_back(header.direction[row][axis]);
    io.SetDirection(axis, column);
  }
  io.SetComponentType(itkComponent(header.componentType));
  io.SetNumberOfComponents(header.components);
  io.SetPixelType(header.components == 1 ? itk::IOPixelEnum::SCALAR : itk::IOPixelEnum::VECTOR);
  askForAllVoxels(io);
}

/// Sets the DICOM elements that GDCM needs. DICOM volumes hold only unsigned words; signed ones are shifted,
/// and the rescale intercept makes every reader undo that.
void describeDicom(itk::GDCMImageIO& io, PixelType type)
{
  const auto say = [&](const char* tag, const std::string& value) {
    itk::EncapsulateMetaData<std::string>(io.GetMetaDataDictionary(), tag, value);
  };
  say("0008|0060", "OT");           // modality: other
  say("0028|0004", "MONOCHROME2 "); // 0 is black; the text needs an even number of characters
  if (type != PixelType::int16)
    return;
  say("0028|1052", "-32768"); // rescale intercept
  say("0028|1053", "1");      // rescale slope
  io.SetInternalComponentType(itk::IOComponentEnum::USHORT);
}

/// An image of 2D as a volume of one slice, 1 mm thick.
ImageHeader asOneSlice(ImageHeader header)
{
  header.dimension = 3;
  header.size.push_back(1);
  header.spacingMm.push_back(1);
  header.originMm.push_back(0);
  for (std::vector<double>& row : header.direction)
    row.push_back(0);
  header.direction.push_back({0, 0, 1});
  return header;
}

constexpr std::size_t headerRoom = 65536;

void writeByItk(itk::ImageIOBase& io, const std::string& path, const ImageHeader& header, const void* voxels,
                bool compress)
{
  const auto lock = lockItkFiles();
  io.SetFileName(path);
  describe(io, header);
  io.SetUseCompression(compress);
  io.Write(voxels);
}

std::size_t bytesOf(const ImageHeader& header)
{
  return header.voxelCount() * header.components * pixelTypeSize(header.componentType);
}

std::string sizesText(const std::vector<std::size_t>& size)
{
  std::string text;
  for (const std::size_t length : size)
    text += " " + std::to_string(length);
  return text;
}

/// Writes dim[1], dim[2], ... of a NIfTI-1 header, two bytes each.
void setNiftiSizes(std::string& head, const std::vector<std::size_t>& size)
{
  for (std::size_t axis = 0; axis < size.size(); ++axis)
    for (int byte = 0; byte < 2; ++byte)
      head[42 + 2 * axis + byte] = static_cast<char>(size[axis] >> (8 * byte));
}

}

void replaceInHead(std::string& text, const std::string& old, const std::string& replacement)
{
  const std::size_t place = text.find(old);
  if (place == std::string::npos)
    throw std::runtime_error("a header without \"" + old + "\"");
  text.replace(place, old.size(), replacement);
}

std::string imageFileHead(const std::string& format, const ImageHeader& header, const std::string& folder)
{
  ImageHeader few = header; // with few voxels, so that writing them takes no time
  for (std::size_t& length : few.size)
    length = std::min<std::size_t>(length, 2);
  const std::vector<char> voxels(bytesOf(few));
  const std::string kind = format == "mhd" ? "mha" : format, path = folder + "/head." + kind;
  try {
    writeByItk(*writerFor(kind), path, few, voxels.data(), false);
  } catch (const itk::ExceptionObject& exception) {
    throw std::runtime_error(itkMessage(exception));
  }
  std::ostringstream file;
  file << std::ifstream(path, std::ios::binary).rdbuf();
  std::filesystem::remove(path);
  std::string head = file.str();
  if (head.size() <= voxels.size())
    throw std::runtime_error("the header could not be written");
  head.resize(head.size() - voxels.size());
  if (kind == "nii")
    setNiftiSizes(head, header.size);
  else if (kind == "mha")
    replaceInHead(head, "DimSize =" + sizesText(few.size), "DimSize =" + sizesText(header.size));
  else {
    const std::string components = header.components > 1 ? " " + std::to_string(header.components) : "";
    replaceInHead(head, "sizes:" + components + sizesText(few.size),
                  "sizes:" + components + sizesText(header.size));
  }
  return head;
}

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
  AtomicFile file(path);
  if (format == "jpg" || format == "jpeg" || format == "dcm" || format == "h5" || format == "hdf5")
    file.checkRoom(bytesOf(header)
                   + headerRoom); // GDCM, HDF5, and libjpeg in ITK, end the program if the disk is full
  try {
    const itk::ImageIOBase::Pointer io = writerFor(format);
    if (format == "dcm")
      describeDicom(static_cast<itk::GDCMImageIO&>(*io), header.componentType);
    // GDCM 3.0's JPEG 2000 writes beyond its buffer for small images
    const bool isPlane = format == "dcm" && header.dimension == 2;
    writeByItk(*io, file.temporaryPath(), isPlane ? asOneSlice(header) : header, voxels,
               compress && format != "dcm");
  } catch (const std::exception& exception) {
    file.fail("the image cannot be written: " + itkMessage(exception));
  }
  if (!isWholeImageFile(file.temporaryPath(), format, voxels, bytesOf(header)))
    file.fail("the image could not be written whole");
  file.commit();
}

}
