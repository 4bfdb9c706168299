#include "Core/Sparse/SpGemmOptions.h"

#include "Core/Compute/Error.h"

#include <algorithm>
#include <type_traits>

namespace tessera {
namespace {

[[noreturn]] void failOption(const std::string& given, const std::string& wrong, const std::string& allowed)
{
  failAs(ExitCode::usage, "A B", given + ": " + wrong, allowed);
}

}

template <class V>
void checkOptionsOf(const Context& context, std::size_t rows, std::size_t columns,
                    const SpGemmOptions<V>& options)
{
  const auto checkSize = [&](const MatrixPattern& matrix, const std::string& name) {
    if (matrix.rows != rows || matrix.columns != columns)
      failOption(name,
                 std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns)
                     + " does not fit the product",
                 std::to_string(rows) + " x " + std::to_string(columns));
  };
  const auto checkRising = [&](bool rises, const std::string& name) {
    if (!rises)
      failOption(name, "the columns of a row do not rise", "matrices with sorted rows");
  };
  if (options.mask) {
    checkSize(*options.mask, "mask");
    checkRising(checkPattern(context, *options.mask, "mask"), "mask");
  }
  if (options.accumulate) {
    checkSize(*options.accumulate, "D");
    checkRising(checkMatrix(context, *options.accumulate, "D"), "D");
  }
  if (options.half && !std::is_same_v<V, float>)
    failOption("half precision", "sums are not in single precision", "matrices of single precision");
  if (options.half && options.semiring != Semiring::plusTimes)
    failOption("half precision", "numbers are scaled by row and column, which only products bear",
               "the semiring plus-times");
  if (options.dropTolerance && !(*options.dropTolerance >= 0))
    failOption("tolerance " + std::to_string(*options.dropTolerance), "below zero", "numbers from zero on");
}

void SpGemmReport::add(const SpGemmReport& other)
{
  products += other.products;
  entriesBound += other.entriesBound;
  groups += other.groups;
  tileGroups += other.tileGroups;
  bytesTaken = std::max(bytesTaken, other.bytesTaken);
  choice = other.choice;
}

TESSERA_INSTANTIATE_FOR_NUMBERS(checkOptionsOf<V>);

}
