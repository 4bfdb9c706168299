#include "Core/Image/Files/ReadingOptions.h"

#include <utility>

namespace tessera {
namespace {

ReadingOptions& options()
{
  static ReadingOptions options;
  return options;
}

}

void setReadingOptions(ReadingOptions given)
{
  options() = std::move(given);
}

const ReadingOptions& readingOptions()
{
  return options();
}

}
