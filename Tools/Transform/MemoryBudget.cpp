#include "Tools/Transform/MemoryBudget.h"

#include "Core/Compute/DeviceMemory.h"
#include "Core/Compute/Memory.h"
#include "Core/Registration/LayerInterpolator.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double shareOfFreeMemory = 0.8;

}

MemoryBudget::MemoryBudget(double maxMemory)
    : bytes(maxMemory > 0 ? maxMemory : shareOfFreeMemory * availableMemoryBytes()),
      text((maxMemory > 0 ? "--max-memory gives " : "free are ") + memoryText(bytes))
{
}

/// On the CPU, splines have coefficients in double beside the image.
template <int D>
double resampledBytes(const Context& context, const Interpolator<D>& interpolator)
{
  const auto* reader = dynamic_cast<const LayerInterpolator<D>*>(&interpolator);
  const bool hasCoefficients = !context.onCuda() && !(reader && reader->takesLayers());
  return sizeof(float) + (hasCoefficients ? sizeof(double) : 0);
}

double movingBytes(const ImageHeader& header, bool isLabels, double resampledBytes)
{
  constexpr double intensity = sizeof(float);
  const double components = header.components, inFile = components * static_cast<double>(pixelTypeSize(header.componentType));
  const bool isVector = header.meaning == PixelMeaning::vector && !isLabels;
  const bool isColour = components > 1 && !isVector, isFloat = header.componentType == PixelType::float32;
  const double images = isVector ? components : 1;
  double besideImages = isLabels || isColour || (header.isReadWhole && !isFloat) ? inFile : 0;
  if (isVector) // together, before they are taken apart
    besideImages = std::max(besideImages, components * intensity);
  const double finite = isFloat || header.componentType == PixelType::float64 ? 1 : 0; // what is a number
  return extentCount(header.size) * (std::max(images * intensity + besideImages, images * resampledBytes) + finite);
}

template double resampledBytes(const Context&, const Interpolator<2>&);
template double resampledBytes(const Context&, const Interpolator<3>&);

}
