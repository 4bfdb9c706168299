#include "Tools/Bench/Rivals/CusparseProduct.h"

#include "Core/Compute/Error.h"

namespace tessera {
namespace {

[[noreturn]] void fail()
{
  throw Error(ExitCode::device, "cuSPARSE: this build has no CUDA. Allowed: the device \"cpu\".");
}

}

template <class V>
struct CusparseProduct<V>::State {
};

template <class V>
CusparseProduct<V>::CusparseProduct(const Context&, const CsrOnCuda<V>&, const CsrOnCuda<V>&)
{
  fail();
}
template <class V>
CusparseProduct<V>::~CusparseProduct() = default;
template <class V>
typename CusparseProduct<V>::Result CusparseProduct<V>::multiply(int)
{
  fail();
}
template <class V>
CsrMatrix<V> CusparseProduct<V>::broughtToHost(const Result&) const
{
  fail();
}
template <class V>
void CusparseProduct<V>::keepPattern()
{
  fail();
}
template <class V>
void CusparseProduct<V>::recompute()
{
  fail();
}
template <class V>
const typename CusparseProduct<V>::Result& CusparseProduct<V>::kept() const
{
  fail();
}
template class CusparseProduct<float>;
template class CusparseProduct<double>;

}
