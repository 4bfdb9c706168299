#include "Core/Compute/Vectors/VectorOps.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Compute/Vectors/VectorOpsOnCuda.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t chunk = 16384;

/// A context with one thread for short vectors, for which a parallel region costs more than the work.
Context forSize(const Context& context, std::size_t count)
{
  Context chosen = context;
  if (count < 4 * chunk)
    chosen.threads = 1;
  return chosen;
}

}

double dot(const Context& context, std::span<const double> a, std::span<const double> b)
{
  return dots(context, {{a, b}}).front();
}

double norm(const Context& context, std::span<const double> a)
{
  return std::sqrt(dot(context, a, a));
}

std::vector<double> dots(const Context& context, std::span<const VectorPair> pairs)
{
  if (context.onCuda())
    return oncuda::dots(context, pairs);
  const std::size_t count = pairs.front().a.size(), chunks = (count + chunk - 1) / chunk;
  std::vector<double> partial(chunks * pairs.size());
  forEachRange(forSize(context, count), count, chunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      double sum = 0;
      for (std::size_t i = first; i < last; ++i)
        sum += pairs[p].a[i] * pairs[p].b[i];
      partial[p * chunks + first / chunk] = sum;
    }
  });
  std::vector<double> found(pairs.size());
  for (std::size_t i = 0; i < partial.size(); ++i)
    found[i / chunks] += partial[i];
  return found;
}

double largestMagnitude(const Context& context, std::span<const double> a)
{
  if (context.onCuda())
    return oncuda::largestMagnitude(context, a);
  double largest = 0;
  for (double value : a)
    largest = std::max(largest, std::abs(value));
  return largest;
}

void axpy(const Context& context, double factor, std::span<const double> x, std::span<double> y)
{
  if (context.onCuda())
    return oncuda::combine(context, factor, x, 1, y);
  forEachRange(forSize(context, x.size()), x.size(), chunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      y[i] += factor * x[i];
  });
}

void sumInto(const Context& context, std::span<const WeightedVector> terms, std::span<const double> z,
             std::span<double> y)
{
  if (context.onCuda())
    return oncuda::sumInto(context, terms, z, y);
  forEachRange(forSize(context, y.size()), y.size(), chunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      y[i] = terms.front().weight * terms.front().x[i];
    for (const auto& [weight, x] : terms.subspan(1))
      for (std::size_t i = first; i < last; ++i)
        y[i] += weight * x[i];
    for (std::size_t i = first; i < last && !z.empty(); ++i)
      y[i] *= z[i];
  });
}

void addBounded(const Context& context, double factor, std::span<const double> x, double bound,
                std::span<double> y)
{
  if (context.onCuda())
    return oncuda::addBounded(context, factor, x, bound, y);
  forEachRange(forSize(context, x.size()), x.size(), chunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      y[i] += std::clamp(factor * x[i], -bound, bound);
  });
}

void scaleInto(const Context& context, double factor, std::span<const double> x, std::span<double> y)
{
  if (context.onCuda())
    return oncuda::combine(context, factor, x, 0, y);
  forEachRange(forSize(context, x.size()), x.size(), chunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      y[i] = factor * x[i];
  });
}

void multiplyInto(const Context& context, std::span<const double> a, std::span<const double> b,
                  std::span<double> y)
{
  if (context.onCuda())
    return oncuda::multiplyInto(context, a, b, y);
  forEachRange(forSize(context, a.size()), a.size(), chunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      y[i] = a[i] * b[i];
  });
}

void divideInto(const Context& context, std::span<const double> a, std::span<const double> b,
                std::span<double> y)
{
  if (context.onCuda())
    return oncuda::divideInto(context, a, b, y);
  forEachRange(forSize(context, a.size()), a.size(), chunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      y[i] = a[i] / b[i];
  });
}

void copyInto(const Context& context, std::span<const double> x, std::span<double> y)
{
  if (context.onCuda())
    return context.stream->copyOnDevice(y.data(), x.data(), y.size_bytes());
  std::copy(x.begin(), x.end(), y.begin());
}

void fill(const Context& context, double value, std::span<double> y)
{
  if (context.onCuda())
    return oncuda::fill(context, value, y);
  std::fill(y.begin(), y.end(), value);
}

}
