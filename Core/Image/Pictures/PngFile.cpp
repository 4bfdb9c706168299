#include "Core/Image/Pictures/PngFile.h"

#include "Core/Compute/Error.h"

#include <itkImage.h>
#include <itkImageFileWriter.h>
#include <itkPNGImageIO.h>
#include <itkRGBPixel.h>

#include <algorithm>

namespace tessera {

void writePng(const std::string& path, const std::vector<std::array<std::uint8_t, 3>>& pixels,
              std::size_t width)
{
  using Pixel = itk::RGBPixel<std::uint8_t>;
  const auto image = itk::Image<Pixel, 2>::New();
  image->SetRegions(itk::Size<2>{{width, pixels.size() / width}});
  image->Allocate();
  std::transform(pixels.begin(), pixels.end(), image->GetBufferPointer(),
                 [](const auto& rgb) { return Pixel(rgb.data()); });
  const auto format = itk::PNGImageIO::New();
  format->SetCompressionLevel(9);
  const auto writer = itk::ImageFileWriter<itk::Image<Pixel, 2>>::New();
  writer->SetImageIO(format);
  writer->SetFileName(path);
  writer->SetInput(image);
  writer->UseCompressionOn();
  try {
    writer->Update();
  } catch (const itk::ExceptionObject& error) {
    throw Error(ExitCode::unwritableOutput,
                path + ": the picture cannot be written (" + error.GetDescription()
                    + "). Allowed: a file in a folder that exists and may be written to.");
  }
}

}
