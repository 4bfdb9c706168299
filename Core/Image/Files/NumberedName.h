#pragma once

#include <cstddef>
#include <string>

namespace tessera {

/// A pattern of file names, by which a header names the files of its slices: "slice%03d.raw" makes
/// slice007.raw.
class NumberedName {
public:
  explicit NumberedName(const std::string& pattern);

  /// Whether the pattern has a place for a number: only digits between % and d, at most three.
  bool isNumbered() const { return isNumbered_; }
  std::string operator()(long number) const;

private:
  std::string before_, behind_;
  std::size_t width_ = 0;
  char filling_ = ' ';
  bool isNumbered_ = false;
};

}
