#include "Core/Image/Files/ImageFormat.h"
#include "Tools/Decode/ItkImage.h"
#include "Tools/Decode/ItkSupport.h"
#include "Tools/Decode/TiffFile.h"

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

#include <map>

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

}

void writeByItk(const std::string& path, const ImageHeader& header, const void* voxels, bool compress)
{
  const std::string format = formatOf(path);
  const itk::ImageIOBase::Pointer io = writerFor(format);
  if (format == "dcm")
    describeDicom(static_cast<itk::GDCMImageIO&>(*io), header.componentType);
  io->SetFileName(path);
  describe(*io, format == "dcm" && header.dimension == 2 ? asOneSlice(header) : header);
  // GDCM 3.0's JPEG 2000 writes beyond its buffer for small images
  io->SetUseCompression(compress && format != "dcm");
  io->Write(voxels);
  if (format.starts_with("tif") && header.dimension == 3)
    addTextOfImageJ(path, header.size[2], header.spacingMm[2]);
}

}
