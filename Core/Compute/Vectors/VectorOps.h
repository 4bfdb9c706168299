#pragma once

#include "Core/Compute/Context.h"

#include <initializer_list>
#include <span>
#include <vector>

namespace tessera {

// Operations on vectors of equal length on the context's device. Sums run over chunks of constant size in a
// fixed order.

double dot(const Context&, std::span<const double> a, std::span<const double> b);
double norm(const Context&, std::span<const double> a);
struct VectorPair {
  std::span<const double> a, b;
};
/// a . b of each pair, with the bits of dot(a, b); all vectors have the same length. On a CUDA device it
/// waits once for all pairs.
std::vector<double> dots(const Context&, std::span<const VectorPair>);
inline std::vector<double> dots(const Context& context, std::initializer_list<VectorPair> pairs)
{
  return dots(context, std::span(pairs.begin(), pairs.size()));
}
/// max |a_i|; 0 for an empty vector.
double largestMagnitude(const Context&, std::span<const double> a);
/// y += factor * x
void axpy(const Context&, double factor, std::span<const double> x, std::span<double> y);
struct WeightedVector {
  double weight = 0;
  std::span<const double> x;
};
/// y_i = z_i (weight_0 x_0i + weight_1 x_1i + ...), added in this order; an empty z counts as 1.
void sumInto(const Context&, std::span<const WeightedVector>, std::span<const double> z, std::span<double> y);
/// y += factor * x, where no element of y changes by more than `bound`.
void addBounded(const Context&, double factor, std::span<const double> x, double bound, std::span<double> y);
/// y = factor * x
void scaleInto(const Context&, double factor, std::span<const double> x, std::span<double> y);
/// y_i = a_i b_i
void multiplyInto(const Context&, std::span<const double> a, std::span<const double> b, std::span<double> y);
/// y_i = a_i / b_i
void divideInto(const Context&, std::span<const double> a, std::span<const double> b, std::span<double> y);
void copyInto(const Context&, std::span<const double> x, std::span<double> y);
void fill(const Context&, double value, std::span<double> y);

}
