#include "Tools/Bench/Rivals/CusparseState.cuh"

namespace tessera {
namespace {

constexpr auto asItIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr auto algorithm = CUSPARSE_SPGEMM_DEFAULT;

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
    library.check(library.reuseWorkEstimation(s.handle, asItIs, asItIs, r.a, r.b, r.c, algorithm, r.product,
                                              &first, memory),
                  "estimating the work");
  };
  estimate(nullptr);
  estimate(taken(first));
  std::size_t second = 0, third = 0, fourth = 0;
  const auto count = [&](void* a, void* b, void* c) {
    library.check(library.reuseEntries(s.handle, asItIs, asItIs, r.a, r.b, r.c, algorithm, r.product, &second,
                                       a, &third, b, &fourth, c),
                  "counting entries");
  };
  count(nullptr, nullptr, nullptr);
  void *const ofSecond = taken(second), *const ofThird = taken(third), *const ofFourth = taken(fourth);
  count(ofSecond, ofThird, ofFourth);
  std::int64_t rows = 0, columns = 0, entries = 0;
  library.check(library.sizeOf(r.c, &rows, &columns, &entries), "the size of C");
  r.kept.entries = static_cast<std::uint64_t>(entries);
  r.kept.column = Buffer<std::uint32_t>(s.context, std::max<std::uint64_t>(r.kept.entries, 1));
  r.kept.value = Buffer<V>(s.context, std::max<std::uint64_t>(r.kept.entries, 1));
  library.check(library.setPointers(r.c, r.kept.rowStart.span().data(), r.kept.column.span().data(),
                                    r.kept.value.span().data()),
                "memory of C");
  std::size_t fifth = 0;
  const auto copy = [&](void* memory) {
    library.check(
        library.reuseCopy(s.handle, asItIs, asItIs, r.a, r.b, r.c, algorithm, r.product, &fifth, memory),
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
                                         algorithm, r.product),
                  "computing");
}

template <class V>
const typename CusparseProduct<V>::Result& CusparseProduct<V>::kept() const
{
  return state_->reuse->kept;
}

template void CusparseProduct<float>::keepPattern();
template void CusparseProduct<double>::keepPattern();
template void CusparseProduct<float>::recompute();
template void CusparseProduct<double>::recompute();
template const CusparseProduct<float>::Result& CusparseProduct<float>::kept() const;
template const CusparseProduct<double>::Result& CusparseProduct<double>::kept() const;

}
