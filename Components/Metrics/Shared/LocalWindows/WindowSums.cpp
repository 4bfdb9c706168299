#include "Components/Metrics/Shared/LocalWindows/WindowSums.h"

#include "Core/Compute/HostDevice.h"

namespace tessera {
namespace {

/// Three sums at a time, because each waits for its last addition.
void runAlongRows(const double* in, std::size_t stride, int radius, std::size_t count, double* out)
{
  double a = 0, b = 0, c = 0;
  const double *first = in, *second = in + stride, *third = in + 2 * stride;
  for (int i = 0; i <= 2 * radius; ++i) {
    a += first[i];
    b += second[i];
    c += third[i];
  }
  for (std::size_t x = 0; x < count; ++x) {
    const std::size_t enters = x + 2 * radius + 1;
    out[x] = a += first[enters] - first[x];
    out[count + x] = b += second[enters] - second[x];
    out[2 * count + x] = c += third[enters] - third[x];
  }
}

TESSERA_MULTIVERSION_TO_V4 void weighAlongRow(const double* in, const double* weights, int length,
                                              std::size_t count, double* out)
{
  for (std::size_t x = 0; x < count; ++x)
    out[x] = 0;
  for (int i = 0; i < length; ++i)
    for (std::size_t x = 0; x < count; ++x)
      out[x] += weights[i] * in[x + i];
}

}

TESSERA_MULTIVERSION_TO_V4 void addWeighted(double* sum, const double* addend, double weight,
                                            std::size_t count)
{
  for (std::size_t i = 0; i < count; ++i)
    sum[i] += weight * addend[i];
}

void sumAlongRows(const double* in, std::size_t stride, int radius, const std::vector<double>& weights,
                  std::size_t count, double* out)
{
  if (weights.empty())
    return runAlongRows(in, stride, radius, count, out);
  for (int row = 0; row < 3; ++row)
    weighAlongRow(in + row * stride + 1, weights.data(), static_cast<int>(weights.size()), count,
                  out + row * count);
}

}
