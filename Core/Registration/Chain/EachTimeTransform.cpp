#include "Core/Registration/Chain/EachTimeTransform.h"

#include "Core/Compute/Error.h"

#include <algorithm>
#include <stdexcept>

namespace tessera {

void EachTimeTransform::map(Context& context, const Samples<4>& samples, std::span<const double>,
                            const PointsOut<4>& out) const
{
  PointBatch<4> storage;
  const ListSamples<4> points = asList<4>(samples, storage);
  const auto& [x, y, z, t] = points.pointMm;
  if (out[3] != t)
    std::copy_n(t, points.count, out[3]);
  mapChain<3>(context, *chain_, {{x, y, z}, points.count}, {out[0], out[1], out[2]});
}

std::vector<FileEntry> EachTimeTransform::fileEntries() const
{
  throw Error(ExitCode::unwritableOutput, "transform: a transform in 3D before one of a series in 4D: it is "
                                          "not written again. Allowed: the file that it was read from.");
}

std::vector<double> EachTimeTransform::restore(const Context&, const Parameters&)
{
  throw std::logic_error("EachTimeTransform is made of a chain");
}

}
