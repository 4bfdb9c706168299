// needs: GPU
#include "Core/Compute/Vectors/VectorOpsOnCuda.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"

namespace tessera {
namespace {

using namespace testing;

/// Runs `operation(context, a, b, y)` on both devices; y begins as `b`.
template <class Operation>
std::pair<std::vector<double>, std::vector<double>> onBoth(std::size_t count, Operation&& operation)
{
  const std::vector<double> a = checks::randomVector(count, 1), b = checks::randomVector(count, 2);
  const auto on = [&](const Context& context) {
    Buffer<double> x, z, y;
    x.fromHost(context, a);
    z.fromHost(context, b);
    y.fromHost(context, b);
    operation(context, std::as_const(x).span(), std::as_const(z).span(), y.span());
    return y.toHost(context);
  };
  return {on(Context{}), on(makeContext({DeviceKind::cuda, 0}, 1))};
}

constexpr std::size_t counts[] = {1, 31, 1000, 7605, 16385, 2'000'003};

using VectorOpsOnCudaTest = testing::GpuTest;

TEST_F(VectorOpsOnCudaTest, ElementwiseOperationsGiveTheCpusBits)
{
  for (const std::size_t count : counts) {
    const auto expectSame = [&](const char* name, auto&& operation) {
      const auto [cpu, cuda] = onBoth(count, operation);
      EXPECT_EQ(cpu, cuda) << name << ", " << count;
    };
    expectSame("axpy", [](const Context& c, auto a, auto, auto y) { axpy(c, -0.3, a, y); });
    expectSame("addBounded", [](const Context& c, auto a, auto, auto y) { addBounded(c, -0.3, a, 0.1, y); });
    expectSame("scaleInto", [](const Context& c, auto a, auto, auto y) { scaleInto(c, 1.7, a, y); });
    expectSame("multiplyInto", [](const Context& c, auto a, auto b, auto y) { multiplyInto(c, a, b, y); });
    expectSame("divideInto", [](const Context& c, auto a, auto b, auto y) { divideInto(c, a, b, y); });
    expectSame("copyInto", [](const Context& c, auto a, auto, auto y) { copyInto(c, a, y); });
    expectSame("sumInto", [](const Context& c, auto a, auto b, auto y) {
      const WeightedVector terms[] = {{-0.3, a}, {1, b}, {1.7, a}};
      sumInto(c, terms, b, y);
    });
    expectSame("fill", [](const Context& c, auto, auto, auto y) { fill(c, 4.25, y); });
  }
}

TEST_F(VectorOpsOnCudaTest, DotProductsRepeatAndAgreeWithTheCpu)
{
  for (const std::size_t count : counts) {
    const std::vector<double> a = checks::randomVector(count, 1), b = checks::randomVector(count, 2);
    Buffer<double> x, y;
    x.fromHost(cuda, a);
    y.fromHost(cuda, b);

    const double found = dot(cuda, std::as_const(x).span(), std::as_const(y).span());

    EXPECT_NEAR(found, dot(Context{}, a, b), 1e-15 * static_cast<double>(count))
        << count; // a rounding an element
    EXPECT_EQ(found, dot(cuda, std::as_const(x).span(), std::as_const(y).span())) << count;
    const VectorPair xx{x.span(), x.span()}, xy{x.span(), y.span()};
    const std::vector<double> many =
        dots(cuda, {xx, xy, xx, xy, xx, xy, xx, xy, xy}); // more than one launch takes
    EXPECT_EQ(many[1], found) << count;
    EXPECT_EQ(many[8], found) << count;
    EXPECT_EQ(many[0], dot(cuda, std::as_const(x).span(), std::as_const(x).span())) << count;
    EXPECT_NEAR(norm(cuda, std::as_const(x).span()), norm(Context{}, a), 1e-12 * norm(Context{}, a)) << count;
    EXPECT_EQ(largestMagnitude(cuda, std::as_const(x).span()), largestMagnitude(Context{}, a)) << count;
  }
}

TEST_F(VectorOpsOnCudaTest, ProjectionsHaveTheBitsOfTheirParts)
{
  for (const std::size_t count : counts) {
    const std::vector<double> a = checks::randomVector(count, 1), b = checks::randomVector(count, 2);
    for (const Context& context : {Context{}, cuda}) {
      Buffer<double> x, other, y, expected, factors(context, 2);
      x.fromHost(context, a);
      other.fromHost(context, checks::randomVector(count, 4));
      y.fromHost(context, b);
      expected.fromHost(context, b);
      double* const found = factors.span().data();

      const Projection both[] = {{0.3, x.span(), nullptr, x.span(), found, 1.25},
                                 {0.7, other.span(), found, x.span(), found + 1}};
      addProjections(context, both, y.span());
      const double first = -0.3 * dot(context, x.span(), expected.span());
      axpy(context, first, x.span(), expected.span());
      scaleInto(context, 1.25, expected.span(), expected.span());
      const double second = -first - 0.7 * dot(context, other.span(), expected.span());
      axpy(context, second, x.span(), expected.span());

      EXPECT_EQ(y.toHost(context), expected.toHost(context)) << count;
      EXPECT_EQ(factors.toHost(context), (std::vector<double>{first, second})) << count;
    }
  }
}

TEST_F(VectorOpsOnCudaTest, ConversionRoundsToTheNearestFloat)
{
  const std::vector<double> values = checks::randomVector(5001, 3);
  Buffer<double> from;
  from.fromHost(cuda, values);
  Buffer<float> to(cuda, values.size());

  oncuda::toFloat(cuda, std::as_const(from).span(), to.span());

  EXPECT_EQ(to.toHost(cuda), std::vector<float>(values.begin(), values.end()));
}

}
}
