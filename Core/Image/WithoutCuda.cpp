#include "Core/Compute/Error.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Voxels/PixelRounding.h"
#include "Core/Image/Voxels/StoredVoxels.h"

// In place of this folder's .cu files in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail(const char* what)
{
  throw Error(ExitCode::device, std::string(what) + ": this build has no CUDA. Allowed: (Device \"cpu\").");
}

}

void filterLinesOnCuda(Context&, const ExponentialFilter&, LineEnds, const LinesOnCuda&, const float*, float*)
{
  fail("filtering lines");
}
void filterLinesOnCuda(Context&, const ExponentialFilter&, LineEnds, const LinesOnCuda&, const KeptPlaces&,
                       const float*, float*)
{
  fail("filtering lines");
}
void tapLinesOnCuda(const Context&, const LinesOnCuda&, const AxisTaps&, const float*, float*)
{
  fail("taps of lines");
}
void toPixelsOnCuda(const Context&, const float*, std::size_t, PixelType, std::byte*)
{
  fail("rounding to pixels");
}
void storedToFloatsOnCuda(const Context&, const std::byte*, const StoredLayout&, std::size_t, std::size_t,
                          float*, std::uint8_t*, VoxelCounts*, bool)
{
  fail("converting voxels to floats");
}

}
