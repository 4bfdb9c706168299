#include "Tools/Bench/Rivals/CusparseProduct.h"

#include "Core/Compute/Cuda/Cuda.cuh"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <cusparse.h>
#include <dlfcn.h>

namespace tessera {
namespace {

constexpr const char* libraryName = "libcusparse.so.12";
constexpr float chunkFraction =
    0.2f; // share of the products that is computed at a time, as in NVIDIA's example

constexpr auto asItIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr auto anyAlgorithm = CUSPARSE_SPGEMM_DEFAULT;

/// The functions of cuSPARSE that CusparseProduct uses. The library is loaded at run time, because it is
/// several times as large as this program.
struct CusparseLibrary {
  decltype(&cusparseCreate) create;
  decltype(&cusparseDestroy) destroy;
  decltype(&cusparseSetStream) setStream;
  decltype(&cusparseGetErrorString) errorString;
  decltype(&cusparseCreateCsr) createCsr;
  decltype(&cusparseDestroySpMat) destroyMatrix;
  decltype(&cusparseSpMatGetSize) sizeOf;
  decltype(&cusparseCsrSetPointers) setPointers;
  decltype(&cusparseSpGEMM_createDescr) createProduct;
  decltype(&cusparseSpGEMM_destroyDescr) destroyProduct;
  decltype(&cusparseSpGEMM_workEstimation) workEstimation;
  decltype(&cusparseSpGEMM_estimateMemory) estimateMemory;
  decltype(&cusparseSpGEMM_compute) compute;
  decltype(&cusparseSpGEMM_copy) copy;
  decltype(&cusparseSpGEMMreuse_workEstimation) reuseWorkEstimation;
  decltype(&cusparseSpGEMMreuse_nnz) reuseEntries;
  decltype(&cusparseSpGEMMreuse_copy) reuseCopy;
  decltype(&cusparseSpGEMMreuse_compute) reuseCompute;

  /// Throws Error(device) with cuSPARSE's description unless the status means success.
  void check(cusparseStatus_t status, const char* doing) const
  {
    if (status != CUSPARSE_STATUS_SUCCESS)
      throw Error(ExitCode::device, std::string("cuSPARSE: ") + doing + ": " + errorString(status)
                                        + ". Allowed: another algorithm, or less work at a time.");
  }
};

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

/// Loads the library at the first call. Throws Error(device) if it is not found or lacks a function.
const CusparseLibrary& loadedLibrary()
{
  static const CusparseLibrary library = load();
  return library;
}

/// Converts row starts to 32 bits. Memory traffic: reads 8 bytes for each row, writes 4.
__global__ void narrow(std::size_t count, const std::uint64_t* wide, std::int32_t* narrowed)
{
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count)
    narrowed[i] = static_cast<std::int32_t>(wide[i]);
}

/// Owns a description of a matrix or a product that cuSPARSE has made.
template <class Handle>
class Described {
public:
  Described(Handle handle, cusparseStatus_t (*destroy)(Handle)) : handle_(handle), destroy_(destroy) {}
  ~Described()
  {
    if (handle_)
      destroy_(handle_);
  }
  Described(Described&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_)
  {
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  operator Handle() const { return handle_; }

private:
  Handle handle_;
  cusparseStatus_t (*destroy_)(Handle);
};

}

/// The objects that SpGEMMreuse needs from call to call.
template <class V>
struct CusparseProduct<V>::Reuse {
  Described<cusparseSpMatDescr_t> a, b, c;
  Described<cusparseSpGEMMDescr_t> product;
  std::vector<Buffer<unsigned char>> memory;
  Result kept;
};

template <class V>
struct CusparseProduct<V>::State {
  static constexpr cudaDataType type = std::is_same_v<V, float> ? CUDA_R_32F : CUDA_R_64F;

  Context context;
  const CsrOnCuda<V>&a, &b;
  const CusparseLibrary& library;
  cusparseHandle_t handle = nullptr;
  Buffer<std::int32_t> startsOfA, startsOfB;
  std::unique_ptr<Reuse> reuse;

  State(const Context& given, const CsrOnCuda<V>& givenA, const CsrOnCuda<V>& givenB)
      : context(given), a(givenA), b(givenB), library(loadedLibrary()), startsOfA(narrowed(a, "A")),
        startsOfB(narrowed(b, "B"))
  {
    library.check(library.create(&handle), "a handle");
    library.check(library.setStream(handle, cudaStreamOf(context)), "a stream");
  }
  ~State()
  {
    reuse.reset();
    library.destroy(handle);
  }

  Buffer<std::int32_t> narrowed(const CsrOnCuda<V>& matrix, const char* name) const
  {
    if (std::max<std::uint64_t>(matrix.entries, matrix.rows) > 0x7ffffffe)
      throw Error(ExitCode::usage, std::string("cuSPARSE: ") + name + ": " + std::to_string(matrix.entries)
                                       + " entries: its products count by 32 bits. Allowed: fewer than 2^31 "
                                         "- 1, or another algorithm.");
    Buffer<std::int32_t> starts(context, matrix.rows + 1);
    constexpr unsigned threads = 256;
    narrow<<<static_cast<unsigned>(ceilDiv<std::size_t>(matrix.rows + 1, threads)), threads, 0,
             cudaStreamOf(context)>>>(matrix.rows + 1, matrix.rowStart.span().data(), starts.span().data());
    checkLaunch("32-bit row starts");
    return starts;
  }

  Described<cusparseSpMatDescr_t> described(std::size_t rows, std::size_t columns, std::uint64_t entries,
                                            const std::int32_t* starts, const std::uint32_t* column,
                                            const V* value) const
  {
    cusparseSpMatDescr_t matrix = nullptr;
    const auto changeable = [](const auto* array) {
      return const_cast<void*>(static_cast<const void*>(array));
    };
    library.check(library.createCsr(&matrix, static_cast<std::int64_t>(rows),
                                    static_cast<std::int64_t>(columns), static_cast<std::int64_t>(entries),
                                    changeable(starts), changeable(column), changeable(value),
                                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
                  "a matrix");
    return {matrix, [](cusparseSpMatDescr_t done) { return loadedLibrary().destroyMatrix(done); }};
  }
  Described<cusparseSpGEMMDescr_t> describedProduct() const
  {
    cusparseSpGEMMDescr_t made = nullptr;
    library.check(library.createProduct(&made), "a product");
    return {made, [](cusparseSpGEMMDescr_t done) { return loadedLibrary().destroyProduct(done); }};
  }
  Described<cusparseSpMatDescr_t> describedA() const
  {
    return described(a.rows, a.columns, a.entries, startsOfA.span().data(), a.column.span().data(),
                     a.value.span().data());
  }
  Described<cusparseSpMatDescr_t> describedB() const
  {
    return described(b.rows, b.columns, b.entries, startsOfB.span().data(), b.column.span().data(),
                     b.value.span().data());
  }
  /// Takes memory for the entries of C, whose number cuSPARSE knows by now.
  void takeEntries(const Described<cusparseSpMatDescr_t>& described, Result& c) const
  {
    std::int64_t rows = 0, columns = 0, entries = 0;
    library.check(library.sizeOf(described, &rows, &columns, &entries), "the size of C");
    c.entries = static_cast<std::uint64_t>(entries);
    c.column = Buffer<std::uint32_t>(context, std::max<std::uint64_t>(c.entries, 1));
    c.value = Buffer<V>(context, std::max<std::uint64_t>(c.entries, 1));
    library.check(library.setPointers(described, c.rowStart.span().data(), c.column.span().data(),
                                      c.value.span().data()),
                  "memory of C");
  }
};

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

  s.takeEntries(result, c);
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

template <class V>
void CusparseProduct<V>::keepPattern()
{
  State& s = *state_;
  const CusparseLibrary& library = s.library;
  Result c;
  c.rowStart = Buffer<std::int32_t>(s.context, s.a.rows + 1);
  auto described = s.described(s.a.rows, s.b.columns, 0, c.rowStart.span().data(), nullptr, nullptr);
  s.reuse.reset(new Reuse{
      s.describedA(), s.describedB(), std::move(described), s.describedProduct(), {}, std::move(c)});
  Reuse& r = *s.reuse;
  const auto taken = [&](std::size_t bytes) {
    r.memory.emplace_back(s.context, std::max<std::size_t>(bytes, 1));
    return static_cast<void*>(r.memory.back().span().data());
  };
  std::size_t first = 0;
  const auto estimate = [&](void* memory) {
    library.check(library.reuseWorkEstimation(s.handle, asItIs, asItIs, r.a, r.b, r.c, anyAlgorithm,
                                              r.product, &first, memory),
                  "estimating the work");
  };
  estimate(nullptr);
  estimate(taken(first));
  std::size_t second = 0, third = 0, fourth = 0;
  const auto count = [&](void* a, void* b, void* c) {
    library.check(library.reuseEntries(s.handle, asItIs, asItIs, r.a, r.b, r.c, anyAlgorithm, r.product,
                                       &second, a, &third, b, &fourth, c),
                  "counting entries");
  };
  count(nullptr, nullptr, nullptr);
  void *const ofSecond = taken(second), *const ofThird = taken(third), *const ofFourth = taken(fourth);
  count(ofSecond, ofThird, ofFourth);
  s.takeEntries(r.c, r.kept);
  std::size_t fifth = 0;
  const auto copy = [&](void* memory) {
    library.check(
        library.reuseCopy(s.handle, asItIs, asItIs, r.a, r.b, r.c, anyAlgorithm, r.product, &fifth, memory),
        "the pattern of C");
  };
  copy(nullptr);
  copy(taken(fifth));
}

template <class V>
void CusparseProduct<V>::recompute()
{
  const State& s = *state_;
  const Reuse& r = *s.reuse;
  const V one = 1, zero = 0;
  s.library.check(s.library.reuseCompute(s.handle, asItIs, asItIs, &one, r.a, r.b, &zero, r.c, State::type,
                                         anyAlgorithm, r.product),
                  "computing");
}

template <class V>
const typename CusparseProduct<V>::Result& CusparseProduct<V>::kept() const
{
  return state_->reuse->kept;
}

template class CusparseProduct<float>;
template class CusparseProduct<double>;

}
