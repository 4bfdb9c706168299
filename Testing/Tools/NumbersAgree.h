#pragma once

#include <string>

namespace tessera::testing {

/// How far numbers may be apart: the larger of the two bounds decides.
struct Allowance {
  double absolute = 0;
  double relative = 0; // of the second number's magnitude
};

/// Compares the numbers of two texts one by one, whatever stands between them, and prints the largest
/// difference under `label`. Records it under `quantity` (recordDifference). 0 if all agree; 1 if one does
/// not, or the texts hold no number or unlike many.
int numbersAgree(const std::string& label, const std::string& quantity, const std::string& first,
                 const std::string& second, const Allowance&);

}
