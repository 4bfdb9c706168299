#include "Testing/Tools/NumbersAgree.h"

#include "Testing/Tools/Differences.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace tessera::testing {
namespace {

std::vector<double> numbersOf(const std::string& path)
{
  std::vector<double> numbers;
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (end != word.c_str() && *end == '\0')
      numbers.push_back(number);
  }
  return numbers;
}

}

int numbersAgree(const std::string& label, const std::string& quantity, const std::string& first,
                 const std::string& second, const Allowance& allowance)
{
  const std::vector<double> a = numbersOf(first), b = numbersOf(second);
  if (a.empty() || a.size() != b.size()) {
    std::printf("%s: %zu and %zu numbers  <-- FAILS\n", label.c_str(), a.size(), b.size());
    return 1;
  }
  double largest = 0, largestRelative = 0, largestShare = 0; // the last of what is allowed
  std::size_t worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    const double allowed = std::max(allowance.absolute, allowance.relative * std::abs(b[i]));
    const double share = difference == 0 ? 0 : difference / allowed;
    largest = std::max(largest, difference);
    if (difference != 0)
      largestRelative = std::max(largestRelative, difference / std::abs(b[i]));
    if (!(share <= largestShare)) {
      largestShare = share;
      worst = i;
    }
  }
  const bool good = largestShare <= 1;
  std::printf(
      "%s: largest difference %.3g of %zu numbers, worst %.9g for %.9g, allowed %.3g + %.3g relative%s\n",
      label.c_str(), largest, a.size(), a[worst], b[worst], allowance.absolute, allowance.relative,
      good ? "" : "  <-- FAILS");
  recordDifference(quantity, allowance.relative > 0
                                 ? LargestDifference{largestRelative, allowance.relative, " relative"}
                                 : LargestDifference{largest, allowance.absolute, ""});
  return good ? 0 : 1;
}

}
