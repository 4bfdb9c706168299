#include "Core/Image/ImageWriter.h"

#include "Core/Compute/AtomicFile.h"
#include "Core/Image/ImageFormat.h"
#include "Core/Image/ItkSupport.h"
#include "Core/Image/WholeFile.h"

#include <itkBMPImageIO.h>
#include <itkGDCMImageIO.h>
#include <itkGiplImageIO.h>
#include <itkJPEGImageIO.h>
#include <itkMetaDataObject.h>
#include <itkMetaImageIO.h>
#include <itkNiftiImageIO.h>
#include <itkNrrdImageIO.h>
#include <itkPNGImageIO.h>
#include <itkTIFFImageIO.h>
#include <itkVTKImageIO.h>

namespace tessera {
namespace {

template <class ItkIO>
itk::ImageIOBase::Pointer make()
{
  return itk::ImageIOBase::Pointer(ItkIO::New());
}

/// `format` is one that checkWritable accepts.
itk::ImageIOBase::Pointer writerFor(const std::string& format)
{
  if (format == "mhd" || format == "mha")
    return make<itk::MetaImageIO>();
  if (format == "nrrd" || format == "nhdr")
    return make<itk::NrrdImageIO>();
  if (format == "gipl" || format == "gipl.gz")
    return make<itk::GiplImageIO>();
  if (format == "vtk")
    return make<itk::VTKImageIO>();
  if (format == "tif" || format == "tiff")
    return make<itk::TIFFImageIO>();
  if (format == "png")
    return make<itk::PNGImageIO>();
  if (format == "jpg" || format == "jpeg")
    return make<itk::JPEGImageIO>();
  if (format == "bmp")
    return make<itk::BMPImageIO>();
  if (format == "dcm")
    return make<itk::GDCMImageIO>();
  return make<itk::NiftiImageIO>();
}

itk::IOComponentEnum itkComponent(PixelType type)
{
  using Component = itk::IOComponentEnum;
  constexpr Component components[] = {Component::CHAR, Component::UCHAR, Component::SHORT, Component::USHORT, Component::INT,
                                      Component::UINT, Component::LONG,  Component::ULONG, Component::FLOAT,  Component::DOUBLE};
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

/// What GDCM wants said. DICOM's volumes hold unsigned words only; a shift that every reader undoes keeps signed ones.
void describeDicom(itk::GDCMImageIO& io, PixelType type)
{
  const auto say = [&](const char* tag, const std::string& value) {
    itk::EncapsulateMetaData<std::string>(io.GetMetaDataDictionary(), tag, value);
  };
  say("0008|0060", "OT");           // modality: other
  say("0028|0004", "MONOCHROME2 "); // black is 0; an even number of characters
  if (type != PixelType::int16)
    return;
  say("0028|1052", "-32768"); // rescale intercept
  say("0028|1053", "1");      // rescale slope
  io.SetInternalComponentType(itk::IOComponentEnum::USHORT);
}

constexpr std::size_t headerRoom = 65536;

}

void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress)
{
  const std::string format = formatOf(path);
  checkWritable(format.empty() ? path.substr(path.find_last_of("./") + 1) : format, header.dimension, header.componentType,
                header.components);
  const std::size_t byteCount = header.voxelCount() * header.components * pixelTypeSize(header.componentType);
  AtomicFile file(path);
  if (format == "jpg" || format == "jpeg" || format == "dcm")
    file.checkRoom(byteCount + headerRoom); // libjpeg, as ITK calls it, and GDCM end the program if they cannot write
  try {
    const itk::ImageIOBase::Pointer io = writerFor(format);
    io->SetFileName(file.temporaryPath());
    describe(*io, header);
    if (format == "dcm")
      describeDicom(static_cast<itk::GDCMImageIO&>(*io), header.componentType);
    io->SetUseCompression(compress && format != "dcm"); // GDCM 3.0's JPEG 2000 writes beyond its buffer for small images
    io->Write(voxels);
  } catch (const std::exception& exception) {
    file.fail("the image cannot be written: " + itkMessage(exception));
  }
  if (!isWholeImageFile(file.temporaryPath(), format, voxels, byteCount))
    file.fail("the image could not be written whole");
  file.commit();
}

}
