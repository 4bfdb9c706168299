#include "Core/Runs/Resampling/MemoryBudget.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Compression/BlockDeflate.h"
#include "Core/Image/Voxels/LabelTable.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double shareOfFreeMemory = 0.8;
// Bytes for pieces of files, on top of the budget.
constexpr double minPieceBytes = 8e6, shareOfPieces = 1.0 / 16;
constexpr double sharedPieceBytes = 5e6; // values in the file's own type, and blocks that are not full yet
constexpr double zlibBytes = 300e3;      // state of a thread that compresses; inflating takes less

}

MemoryBudget::MemoryBudget(double maxMemory)
    : bytes(maxMemory > 0 ? maxMemory : shareOfFreeMemory * availableMemoryBytes()),
      text((maxMemory > 0 ? "--max-memory gives " : "free are ") + memoryText(bytes))
{
}

int MemoryBudget::threadsForFiles(int threads) const
{
  constexpr double threadBytes = zlibBytes + 2.0 * deflateBlockBytes;
  const double fitting = (std::max(minPieceBytes, shareOfPieces * bytes) - sharedPieceBytes) / threadBytes;
  return static_cast<int>(std::clamp(fitting, 1.0, static_cast<double>(threads)));
}

/// On the CPU, a spline keeps coefficients in double precision beside the image.
template <int D>
double resampledBytes(const Context& context, const Interpolator<D>& interpolator)
{
  const bool hasCoefficients = !context.onCuda() && !interpolator.readsVoxels();
  return sizeof(float) + (hasCoefficients ? sizeof(double) : 0);
}

double movingBytes(const ImageHeader& header, bool isLabels, double resampledBytes)
{
  constexpr double intensity = sizeof(float);
  const double components = header.components,
               inFile = components * static_cast<double>(pixelTypeSize(header.componentType));
  const bool isVector = header.meaning == PixelMeaning::vector && !isLabels;
  const bool isColour = components > 1 && !isVector, isFloat = header.componentType == PixelType::float32;
  const double images = isVector ? components : 1;
  double besideImages = isLabels || isColour || (header.isReadWhole && !isFloat) ? inFile : 0;
  const bool hasTable = isLabels && LabelTable::mayBeNumbered(header.componentType);
  besideImages += hasTable ? inFile : 0;
  if (isVector) // all components are read into one array before they are split
    besideImages = std::max(besideImages, components * intensity);
  // a byte a voxel that says whether it is a finite number
  const double finite = isFloat || header.componentType == PixelType::float64 ? 1 : 0;
  return extentCount(header.size)
         * (std::max(images * intensity + besideImages, images * resampledBytes) + finite);
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(resampledBytes<D>);

}
