#include "Tools/Cohort/CohortTally.h"

#include <algorithm>

namespace tessera {
namespace {

/// The code and the message without words that hold a path, the name of a file or a number.
std::string kindOfFailure(const RowAnswer& answer)
{
  std::string kind = std::to_string(answer.exitCode) + " ";
  for (std::size_t start = 0; start < answer.message.size();) {
    const std::size_t end = std::min(answer.message.find(' ', start), answer.message.size());
    const std::string word = answer.message.substr(start, end - start);
    const std::size_t point = word.find('.');
    const bool isName = point != std::string::npos && point < word.find_last_not_of(":,.");
    if (!isName && word.find_first_of("/0123456789") == std::string::npos)
      kind += word + " ";
    start = end + 1;
  }
  return kind;
}

}

void CohortTally::addDone()
{
  ++done_;
  alike_ = alikeInCode_ = 0;
}

void CohortTally::addFailure(const std::string& id, const RowAnswer& answer)
{
  failures_.insert(id);
  const std::string kind = kindOfFailure(answer);
  alike_ = kind == lastFailure_ ? alike_ + 1 : 1;
  lastFailure_ = kind;
  alikeInCode_ = answer.exitCode == lastCode_ ? alikeInCode_ + 1 : 1;
  lastCode_ = answer.exitCode;
}

std::string CohortTally::line(std::size_t running, std::size_t left) const
{
  std::string text = std::to_string(skipped_ + done_) + " of " + std::to_string(rows_) + " done, "
                     + std::to_string(failures_.size()) + " failed, " + std::to_string(running) + " running";
  if (done_ == 0)
    return text;
  const double rowsASecond = static_cast<double>(done_) / secondsSince(start_);
  text += ", " + decimals(rowsASecond, 2) + " rows a second";
  return left == 0 ? text
                   : text + ", about " + decimals(static_cast<double>(left) / rowsASecond, 0) + " s left";
}

}
