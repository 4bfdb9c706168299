#include "Core/Sparse/GalerkinPlan.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Sparse/Analysis/ProductWork.h"
#include "Core/Sparse/GalerkinPlanOnCuda.h"
#include "Core/Sparse/PreparedProduct.h"

namespace tessera {
namespace {

template <class V>
const CsrMatrix<V>& checked(const Context& context, const CsrMatrix<V>& matrix, const std::string& name)
{
  checkMatrix(context, matrix, name);
  return matrix;
}

std::string sizes(const MatrixPattern& matrix)
{
  return std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns);
}

/// Whether R A takes fewer products than A P. Throws Error(usage) if the three do not fit together.
template <class V>
bool takesRFirst(const Context& context, const CsrMatrix<V>& r, const CsrMatrix<V>& a, const CsrMatrix<V>& p)
{
  if (r.columns != a.rows || a.columns != p.rows)
    throw Error(ExitCode::usage, "R A P: R is " + sizes(r) + ", A " + sizes(a) + " and P " + sizes(p)
                                     + ". Allowed: as many columns of R as rows of A, and of A as rows of P. "
                                       "R is the transpose of P if it is not given.");
  return productCount(context, checked(context, r, "R"), checked(context, a, "A"))
         < productCount(context, a, checked(context, p, "P"));
}

}

/// The matrices in device memory, and the plan there.
template <class V>
struct GalerkinPlan<V>::OnCuda {
  OnCuda(const Context& given, const CsrMatrix<V>& hostR, const CsrMatrix<V>& hostA,
         const CsrMatrix<V>& hostP, bool startsWithR, const SpGemmOptions<V>& options)
      : context(given), orderOfA(preparedOrder(given, hostA, false, "A")), r(brought(hostR, "R")),
        a(brought(hostA, "A")), p(brought(hostP, "P")), plan(context, r, a, p, startsWithR,
                                                             {.semiring = options.semiring,
                                                              .algorithm = options.algorithm,
                                                              .maxMemoryBytes = options.maxMemoryBytes})
  {
  }

  CsrOnCuda<V> brought(const CsrMatrix<V>& matrix, const char* name) const
  {
    return broughtToCuda(context, preparedOperand(context, matrix, false, name), name);
  }
  Array<V> execute(const Array<V>& given, std::uint64_t entriesOfC)
  {
    checkNumbers("plan of R A P: A", given, a.entries);
    const Array<V> values = inOrder(given, orderOfA);
    if (!values.empty())
      copyLargeToDevice(context, a.value.span().data(), values.data(), values.size() * sizeof(V));
    const Buffer<V> made = plan.execute(a.value.span().data());
    Array<V> c(entriesOfC);
    if (entriesOfC > 0)
      copyLargeToHost(context, c.data(), made.span().data(), entriesOfC * sizeof(V));
    return c;
  }

  Context context;
  std::vector<std::uint64_t> orderOfA;
  CsrOnCuda<V> r, a, p;
  GalerkinPlanOnCuda<V> plan;
};

template <class V>
GalerkinPlan<V>::GalerkinPlan(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& p,
                              const SpGemmOptions<V>& options)
    : GalerkinPlan(context, transposed(context, checked(context, p, "P")), a, p, options)
{
}

template <class V>
GalerkinPlan<V>::GalerkinPlan(const Context& context, const CsrMatrix<V>& r, const CsrMatrix<V>& a,
                              const CsrMatrix<V>& p, const SpGemmOptions<V>& options)
    : startsWithR_(takesRFirst(context, r, a, p)), ofR_(r.value), ofP_(p.value)
{
  if (context.onCuda()) {
    onCuda_ = std::make_unique<OnCuda>(context, r, a, p, startsWithR_, options);
    first_ = broughtToHost(context, onCuda_->plan.first());
    entriesBetween_ = onCuda_->plan.between().entries;
    return;
  }
  SpGemmOptions<V> kept{
      .semiring = options.semiring, .algorithm = options.algorithm, .maxMemoryBytes = options.maxMemoryBytes};
  CsrMatrix<V> between;
  const auto planOf = [&](const std::string& name, const CsrMatrix<V>& left, const CsrMatrix<V>& right,
                          CsrMatrix<V>& made) {
    try {
      return SpGemmPlan<V>(context, left, right, kept, &made);
    } catch (Error& error) {
      throw error.code() != ExitCode::outOfMemory
          ? error.addContext(name)
          : Error(error.code(), "R A P: " + name
                                    + " does not fit into the memory as a whole. Allowed: a larger memory "
                                      "limit, or more memory.");
    }
  };
  inner_ = startsWithR_ ? planOf("R A", r, a, between) : planOf("A P", a, p, between);
  outer_ = startsWithR_ ? planOf("C", between, p, first_) : planOf("C", r, between, first_);
  entriesBetween_ = between.entries();
}

template <class V>
GalerkinPlan<V>::~GalerkinPlan() = default;

template <class V>
CsrMatrix<V> GalerkinPlan<V>::execute(const Array<V>& a)
{
  if (onCuda_) {
    CsrMatrix<V> c = first_; // shares the pattern
    c.value = onCuda_->execute(a, c.entries());
    return c;
  }
  const Array<V> between = (startsWithR_ ? inner_->execute(ofR_, a) : inner_->execute(a, ofP_)).value;
  return startsWithR_ ? outer_->execute(between, ofP_) : outer_->execute(ofR_, between);
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(GalerkinPlan);

}
