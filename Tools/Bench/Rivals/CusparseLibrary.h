#pragma once

#include <cusparse.h>

namespace tessera {

/// The functions of cuSPARSE that CusparseProduct uses. The library is loaded at run time, because it is
/// several times as large as this program.
struct CusparseLibrary {
  /// Loads the library at the first call. Throws Error(device) if it is not found or lacks a function.
  static const CusparseLibrary& loaded();

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
  void check(cusparseStatus_t, const char* doing) const;
};

}
