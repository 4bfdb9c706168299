#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/ImageGeometry.h"
#include "Core/Registration/Samples/SampleKernels.h"
#include "Tools/Bench/Model/KernelCost.h"
#include "Tools/Bench/Model/TrilinearFromField.h"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

// Parts of which the cases of the benchmark of the performance model are made.
namespace tessera::modelcases {

using Volume = std::array<int, 3>;

inline std::size_t voxelsOf(const Volume& volume)
{
  return static_cast<std::size_t>(volume[0]) * volume[1] * volume[2];
}

/// Voxels of 1 mm at the origin.
inline ImageGeometry<3> geometryOf(const Volume& volume)
{
  ImageGeometry<3> geometry{{}, {1, 1, 1}, {}, identityMatrix<3>()};
  for (int d = 0; d < 3; ++d)
    geometry.size[d] = static_cast<std::size_t>(volume[d]);
  return geometry;
}

/// Three planar components.
struct Field {
  std::array<Buffer<float>, 3> of;

  Field(const Context& context, const Volume& volume)
  {
    for (int c = 0; c < 3; ++c) {
      of[c] = Buffer<float>(context, voxelsOf(volume));
      fillWithWave(context, volume, c, 3, of[c].span().data());
    }
  }
  std::array<float*, 3> values() { return {of[0].span().data(), of[1].span().data(), of[2].span().data()}; }
  std::array<const float*, 3> constValues()
  {
    return {of[0].span().data(), of[1].span().data(), of[2].span().data()};
  }
};

using Bits = std::vector<std::uint32_t>;

/// The work of a case, and the bits of its results.
struct Work {
  std::function<void()> run;
  std::function<std::vector<KernelLaunch>()> launches;
  std::function<Bits()> result;
};

template <class T>
void append(const Context& context, const Buffer<T>& values, Bits& bits)
{
  const std::vector<T> host = values.toHost(context);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(host.data());
  bits.insert(bits.end(), words, words + host.size() * sizeof(T) / sizeof *words);
}

template <class T>
void clear(const Context& context, Buffer<T>& values)
{
  context.stream->fill(values.span().data(), 0, values.span().size_bytes());
}

/// The bits that `run` writes to an array.
template <class T>
Bits bitsWritten(const Context& context, const std::function<void()>& run, Buffer<T>& values)
{
  Bits bits;
  clear(context, values);
  run();
  append(context, values, bits);
  return bits;
}

inline Buffer<float> noiseOf(const Context& context, std::size_t count, float highest)
{
  Buffer<float> values(context, count);
  fillWithNoise(context, count, 0.0f, highest, values.span().data());
  return values;
}

inline SamplesOnCuda<3> latticeOf(const Volume& volume, const float* image)
{
  SamplesOnCuda<3> samples;
  samples.count = voxelsOf(volume);
  samples.pointFromIndex = geometryOf(volume).pointFromIndex();
  samples.step = {1, 1, 1};
  samples.positions = samples.imageSize = volume;
  samples.image = image;
  samples.fixed = image;
  return samples;
}

/// The cases whose kernels work for landmarks (LandmarkCases.cpp).
Work landmarksCase(Context&, const Volume&);
Work splineFieldCase(Context&, const Volume&);
Work sestCase(Context&, const Volume&);
Work globalLandmarksCase(Context&, const Volume&);
Work sharedLandmarksCase(Context&, const Volume&);

}
