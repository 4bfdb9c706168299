#include "Tools/Bench/Rivals/CusparseProduct.h"

#include "Tools/Bench/Rivals/CusparseState.cuh"

#include <dlfcn.h>

#include <algorithm>
#include <string>

namespace tessera {
namespace {

constexpr const char* libraryName = "libcusparse.so.12";
constexpr float chunkFraction =
    0.2f; // share of the products that is computed at a time, as in NVIDIA's example

template <class Function>
void load(void* library, const char* name, Function& function)
{
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw Error(ExitCode::device,
                std::string(libraryName) + ": it has no " + name + ". Allowed: cuSPARSE of CUDA 12 or 13.");
}

CusparseLibrary load()
{
  void* const library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(ExitCode::device, std::string(libraryName) + ": not found (" + dlerror()
                                      + "). Allowed: its folder in LD_LIBRARY_PATH, or another algorithm.");
  CusparseLibrary functions{};
  load(library, "cusparseCreate", functions.create);
  load(library, "cusparseDestroy", functions.destroy);
  load(library, "cusparseSetStream", functions.setStream);
  load(library, "cusparseGetErrorString", functions.errorString);
  load(library, "cusparseCreateCsr", functions.createCsr);
  load(library, "cusparseDestroySpMat", functions.destroyMatrix);
  load(library, "cusparseSpMatGetSize", functions.sizeOf);
  load(library, "cusparseCsrSetPointers", functions.setPointers);
  load(library, "cusparseSpGEMM_createDescr", functions.createProduct);
  load(library, "cusparseSpGEMM_destroyDescr", functions.destroyProduct);
  load(library, "cusparseSpGEMM_workEstimation", functions.workEstimation);
  load(library, "cusparseSpGEMM_estimateMemory", functions.estimateMemory);
  load(library, "cusparseSpGEMM_compute", functions.compute);
  load(library, "cusparseSpGEMM_copy", functions.copy);
  load(library, "cusparseSpGEMMreuse_workEstimation", functions.reuseWorkEstimation);
  load(library, "cusparseSpGEMMreuse_nnz", functions.reuseEntries);
  load(library, "cusparseSpGEMMreuse_copy", functions.reuseCopy);
  load(library, "cusparseSpGEMMreuse_compute", functions.reuseCompute);
  return functions;
}

}

const CusparseLibrary& CusparseLibrary::loaded()
{
  static const CusparseLibrary library = load();
  return library;
}

void CusparseLibrary::check(cusparseStatus_t status, const char* doing) const
{
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw Error(ExitCode::device, std::string("cuSPARSE: ") + doing + ": " + errorString(status)
                                      + ". Allowed: another algorithm, or less work at a time.");
}

template <class V>
CusparseProduct<V>::CusparseProduct(const Context& context, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b)
    : state_(std::make_unique<State>(context, a, b))
{
}
template <class V>
CusparseProduct<V>::~CusparseProduct() = default;

template <class V>
typename CusparseProduct<V>::Result CusparseProduct<V>::multiply(int variant)
{
  State& s = *state_;
  const CusparseLibrary& library = s.library;
  constexpr cusparseSpGEMMAlg_t variants[] = {CUSPARSE_SPGEMM_ALG1, CUSPARSE_SPGEMM_ALG2,
                                              CUSPARSE_SPGEMM_ALG3};
  const cusparseSpGEMMAlg_t algorithm = variants[variant - 1];
  constexpr auto asItIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const V one = 1, zero = 0;
  const auto bytes = [&](std::size_t count) {
    return Buffer<unsigned char>(s.context, std::max<std::size_t>(count, 1));
  };

  Result c;
  c.rowStart = Buffer<std::int32_t>(s.context, s.a.rows + 1);
  const auto a = s.describedA(), b = s.describedB();
  const auto result = s.described(s.a.rows, s.b.columns, 0, c.rowStart.span().data(), nullptr, nullptr);
  const auto product = s.describedProduct();

  const auto estimate = [&](std::size_t& size, void* memory) {
    library.check(library.workEstimation(s.handle, asItIs, asItIs, &one, a, b, &zero, result, State::type,
                                         algorithm, product, &size, memory),
                  "estimating the work");
  };
  std::size_t firstSize = 0, secondSize = 0;
  estimate(firstSize, nullptr);
  const Buffer<unsigned char> first = bytes(firstSize);
  estimate(firstSize, const_cast<unsigned char*>(first.span().data()));
  const auto compute = [&](void* memory) {
    library.check(library.compute(s.handle, asItIs, asItIs, &one, a, b, &zero, result, State::type, algorithm,
                                  product, &secondSize, memory),
                  "computing");
  };
  if (variant == 1) {
    compute(nullptr);
  } else {
    const auto memoryFor = [&](std::size_t& size, void* memory, std::size_t* second) {
      library.check(library.estimateMemory(s.handle, asItIs, asItIs, &one, a, b, &zero, result, State::type,
                                           algorithm, product, chunkFraction, &size, memory, second),
                    "estimating the memory");
    };
    std::size_t thirdSize = 0;
    memoryFor(thirdSize, nullptr, nullptr);
    Buffer<unsigned char> third = bytes(thirdSize);
    memoryFor(thirdSize, third.span().data(), &secondSize);
  }
  Buffer<unsigned char> second = bytes(secondSize);
  compute(second.span().data());

  std::int64_t rows = 0, columns = 0, entries = 0;
  library.check(library.sizeOf(result, &rows, &columns, &entries), "the size of C");
  c.entries = static_cast<std::uint64_t>(entries);
  c.column = Buffer<std::uint32_t>(s.context, std::max<std::uint64_t>(c.entries, 1));
  c.value = Buffer<V>(s.context, std::max<std::uint64_t>(c.entries, 1));
  library.check(
      library.setPointers(result, c.rowStart.span().data(), c.column.span().data(), c.value.span().data()),
      "memory of C");
  library.check(
      library.copy(s.handle, asItIs, asItIs, &one, a, b, &zero, result, State::type, algorithm, product),
      "copying C");
  return c;
}

template <class V>
CsrMatrix<V> CusparseProduct<V>::broughtToHost(const Result& result) const
{
  const State& s = *state_;
  const std::vector<std::int32_t> starts = result.rowStart.toHost(s.context);
  CsrMatrix<V> c = emptyMatrix<V>(s.a.rows, s.b.columns);
  std::copy(starts.begin(), starts.end(), c.rowStart.begin());
  c.column = Array<std::uint32_t>(result.entries);
  c.value = Array<V>(result.entries);
  if (result.entries > 0) {
    s.context.stream->copyToHost(c.column.data(), result.column.span().data(),
                                 result.entries * sizeof(std::uint32_t));
    s.context.stream->copyToHost(c.value.data(), result.value.span().data(), result.entries * sizeof(V));
  }
  return checkMatrix(s.context, c, "cuSPARSE's C") ? c : withSortedRows(s.context, c);
}

template class CusparseProduct<float>;
template class CusparseProduct<double>;

}
