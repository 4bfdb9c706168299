#pragma once

#include <complex>
#include <vector>

namespace tessera {

/// One term of a symmetric recursive filter: y[n] = sum over terms of Re(amplitude sum over all k of pole^|k|
/// x[n + k]), |pole| < 1.
struct ExponentialTerm {
  std::complex<double> amplitude, pole;
};
using ExponentialFilter = std::vector<ExponentialTerm>;

/// The continuation of a line beyond its ends.
enum class LineEnds {
  constant, // a a a b c d d d
  mirrored, // c b a b c b a b
};

}
