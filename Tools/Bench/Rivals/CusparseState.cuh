#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Tools/Bench/Rivals/CusparseLibrary.h"
#include "Tools/Bench/Rivals/CusparseProduct.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// Converts row starts to 32 bits. Memory traffic: reads 8 bytes for each row, writes 4.
__global__ static void narrow(std::size_t count, const std::uint64_t* wide, std::int32_t* narrowed)
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
      : context(given), a(givenA), b(givenB), library(CusparseLibrary::loaded()), startsOfA(narrowed(a, "A")),
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
    return {matrix, [](cusparseSpMatDescr_t done) { return CusparseLibrary::loaded().destroyMatrix(done); }};
  }
  Described<cusparseSpGEMMDescr_t> describedProduct() const
  {
    cusparseSpGEMMDescr_t made = nullptr;
    library.check(library.createProduct(&made), "a product");
    return {made, [](cusparseSpGEMMDescr_t done) { return CusparseLibrary::loaded().destroyProduct(done); }};
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
};

}
