#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/Voxels/PixelType.h"

#include <itkMetaImageIO.h>
#include <itkNiftiImageIO.h>
#include <itkNrrdImageIO.h>

#include <string>
#include <vector>

namespace tessera::testing {

/// ITK's own reader and writer of a path that ends in mha, mhd, nrrd, nii or nii.gz.
inline itk::ImageIOBase::Pointer itkIoFor(const std::string& path)
{
  itk::ImageIOBase::Pointer io;
  if (path.ends_with(".mha") || path.ends_with(".mhd"))
    io = itk::MetaImageIO::New();
  else if (path.ends_with(".nrrd"))
    io = itk::NrrdImageIO::New();
  else
    io = itk::NiftiImageIO::New();
  io->SetFileName(path);
  return io;
}

/// The file that ITK makes of voxels in memory, components interleaved.
template <class Pixel, int D>
void writeByItk(const std::string& path, const ImageGeometry<D>& geometry, int components,
                const std::vector<Pixel>& voxels, bool compress)
{
  const itk::ImageIOBase::Pointer io = itkIoFor(path);
  itk::ImageIORegion region(D);
  io->SetNumberOfDimensions(D);
  for (int axis = 0; axis < D; ++axis) {
    io->SetDimensions(axis, geometry.size[axis]);
    io->SetSpacing(axis, geometry.spacingMm[axis]);
    io->SetOrigin(axis, geometry.originMm[axis]);
    std::vector<double> column;
    for (int row = 0; row < D; ++row)
      column.push_back(geometry.direction[row][axis]);
    io->SetDirection(axis, column);
    region.SetSize(axis, geometry.size[axis]);
  }
  io->SetIORegion(region);
  io->SetPixelTypeInfo(static_cast<const Pixel*>(nullptr));
  io->SetNumberOfComponents(components);
  io->SetPixelType(components == 1 ? itk::IOPixelEnum::SCALAR : itk::IOPixelEnum::VECTOR);
  io->SetUseCompression(compress);
  io->Write(voxels.data());
}

/// The voxels of a file as ITK reads them.
template <class Pixel>
std::vector<Pixel> readByItk(const std::string& path)
{
  const itk::ImageIOBase::Pointer io = itkIoFor(path);
  io->ReadImageInformation();
  itk::ImageIORegion region(io->GetNumberOfDimensions());
  for (unsigned axis = 0; axis < io->GetNumberOfDimensions(); ++axis)
    region.SetSize(axis, io->GetDimensions(axis));
  io->SetIORegion(region);
  std::vector<Pixel> voxels(io->GetImageSizeInComponents());
  if (io->GetImageSizeInBytes() == static_cast<itk::ImageIOBase::SizeType>(voxels.size() * sizeof(Pixel)))
    io->Read(voxels.data());
  return voxels;
}

}
