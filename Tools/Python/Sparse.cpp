#include "Core/Compute/Device.h"
#include "Core/Compute/Error.h"
#include "Core/Sparse/SpGemm.h"
#include "Tools/Python/Arrays.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Work.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace tessera::python {
namespace {

template <class T>
using Numbers = nb::ndarray<nb::ro, const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Rows, columns, starts of rows, columns of entries and values; of a mask the values do not count.
template <class V>
using Csr = std::tuple<std::size_t, std::size_t, Numbers<std::uint64_t>, Numbers<std::uint32_t>, Numbers<V>>;

template <class T>
Array<T> copied(const Numbers<T>& numbers)
{
  Array<T> array(numbers.size());
  std::copy_n(numbers.data(), numbers.size(), array.data());
  return array;
}

template <class V>
CsrMatrix<V> matrixOf(const Csr<V>& given)
{
  const auto& [rows, columns, starts, column, value] = given;
  return {{rows, columns, copied(starts), copied(column)}, copied(value)};
}

/// An array of Python in the memory of one of ours.
template <class T>
nb::object arrayOf(const Array<T>& array)
{
  auto* const owned = new Array<T>(array);
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), {owned->size()}, owner));
}

Semiring semiringOf(const std::string& name)
{
  for (const auto& [text, semiring] : {std::pair{"plus-times", Semiring::plusTimes},
                                       {"or-and", Semiring::orAnd},
                                       {"min-plus", Semiring::minPlus},
                                       {"max-min", Semiring::maxMin},
                                       {"plus-pair", Semiring::plusPair}})
    if (name == text)
      return semiring;
  throw Error(ExitCode::usage,
              "semiring: \"" + name
                  + "\": no such semiring. Allowed: plus-times, or-and, min-plus, max-min or plus-pair.");
}

template <class V>
Work* multiplied(const Csr<V>& a, const Csr<V>& b, const std::optional<Csr<V>>& mask, bool complement,
                 const std::string& semiring, const std::string& device, int threads, int leastLevel)
{
  SpGemmOptions<V> options;
  options.semiring = semiringOf(semiring);
  if (mask)
    options.mask = matrixOf<V>(*mask);
  options.complementMask = complement;
  return new Work(
      nb::none(), leastLevel,
      [a = matrixOf<V>(a), b = matrixOf<V>(b), options, device, threads](Work& work) -> Work::Make {
        const Context context = makeContext(chooseDevice(device, "device", "").device, threads);
        SpGemmReport report;
        const CsrMatrix<V> c = multiply(context, a, b, options, &report);
        work.log.info(report.choice);
        return [c] {
          return nb::make_tuple(c.rows, c.columns, arrayOf(c.rowStart), arrayOf(c.column), arrayOf(c.value));
        };
      });
}

}

void bindSparse(nb::module_& module)
{
  module.def("multiply_float64", multiplied<double>);
  module.def("multiply_float32", multiplied<float>);
  module.def("multiply_int64", multiplied<std::int64_t>);
}

}
