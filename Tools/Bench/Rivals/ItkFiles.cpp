#include "Tools/Bench/Rivals/ItkFiles.h"

#include <itkImage.h>
#include <itkImageFileReader.h>
#include <itkImageFileWriter.h>
#include <itkMetaImageIO.h>
#include <itkNiftiImageIO.h>
#include <itkNrrdImageIO.h>

#include <algorithm>

namespace tessera {
namespace {

itk::ImageIOBase::Pointer ioFor(const std::string& path)
{
  if (path.ends_with(".mha"))
    return itk::ImageIOBase::Pointer(itk::MetaImageIO::New());
  if (path.ends_with(".nrrd"))
    return itk::ImageIOBase::Pointer(itk::NrrdImageIO::New());
  return itk::ImageIOBase::Pointer(itk::NiftiImageIO::New());
}

template <class Pixel>
void writeAs(const std::string& path, const Image<3>& image, bool compress)
{
  using ItkImage = itk::Image<Pixel, 3>;
  const auto copy = ItkImage::New();
  typename ItkImage::SizeType size;
  for (int d = 0; d < 3; ++d)
    size[d] = image.geometry.size[d];
  copy->SetRegions(size);
  copy->Allocate();
  std::copy(image.voxels.begin(), image.voxels.end(), copy->GetBufferPointer());
  const auto writer = itk::ImageFileWriter<ItkImage>::New();
  writer->SetImageIO(ioFor(path));
  writer->SetFileName(path);
  writer->SetInput(copy);
  writer->SetUseCompression(compress);
  writer->Update();
}

}

void writeImageByItk(const std::string& path, const Image<3>& image, PixelType type, bool compress)
{
  if (type == PixelType::float32)
    writeAs<float>(path, image, compress);
  else if (type == PixelType::uint8)
    writeAs<unsigned char>(path, image, compress);
  else
    writeAs<short>(path, image, compress);
}

std::vector<float> readImageByItk(const std::string& path)
{
  using ItkImage = itk::Image<float, 3>;
  const auto reader = itk::ImageFileReader<ItkImage>::New();
  reader->SetImageIO(ioFor(path));
  reader->SetFileName(path);
  reader->Update();
  const ItkImage& image = *reader->GetOutput();
  const float* const voxels = image.GetBufferPointer();
  return {voxels, voxels + image.GetBufferedRegion().GetNumberOfPixels()};
}

}
