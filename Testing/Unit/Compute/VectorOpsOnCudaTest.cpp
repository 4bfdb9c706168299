// needs: GPU
#include "Core/Compute/Vectors/VectorOpsOnCuda.h"
#include "Core/Compute/Error.h"
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
    expectSame("sumInto, more than one launch takes", [](const Context& c, auto a, auto b, auto y) {
      std::vector<WeightedVector> terms(15, {-0.3, a});
      terms[13].x = b;
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
    std::vector<VectorPair> pairs(33, xy); // more than one launch takes
    pairs.front() = xx;
    const std::vector<double> many = dots(cuda, pairs);
    EXPECT_EQ(many[1], found) << count;
    EXPECT_EQ(many.back(), found) << count;
    EXPECT_EQ(many[0], dot(cuda, std::as_const(x).span(), std::as_const(x).span())) << count;
    EXPECT_NEAR(norm(cuda, std::as_const(x).span()), norm(Context{}, a), 1e-12 * norm(Context{}, a)) << count;
    EXPECT_EQ(largestMagnitude(cuda, std::as_const(x).span()), largestMagnitude(Context{}, a)) << count;
  }
}

TEST_F(VectorOpsOnCudaTest, WorkBesideBeginsAndEndsWithTheWorkThatItIsBeside)
{
  const std::vector<double> start = checks::randomVector(2'000'003, 1);
  const auto nothing = [] {};
  for (const bool isRecorded : {false, true}) {
    Buffer<double> x, beside(cuda, start.size()), other(cuda, start.size());
    x.fromHost(cuda, start);
    std::size_t calls = 0;
    const auto apart = [&] {
      ++calls;
      const Buffer<double> taken(cuda, start.size()), small(cuda, 10); // and given back
      scaleInto(cuda, 2, x.span(), beside.span());
    };
    std::shared_ptr<void> recorded;
    std::vector<double> expected = start;
    for (int round = 0; round < 20; ++round) {
      scaleInto(cuda, 0.5, x.span(), x.span());
      const auto fails = [] { throw Error(ExitCode::device, ""); };
      std::shared_ptr<void> ofFailed;
      EXPECT_THROW(cuda.stream->sideBySide(fails, nothing, isRecorded ? &ofFailed : nullptr), Error);
      EXPECT_THROW(cuda.stream->sideBySide(nothing, fails, nullptr), Error);
      EXPECT_FALSE(ofFailed);
      cuda.stream->sideBySide(
          apart, [&] { copyInto(cuda, x.span(), other.span()); }, isRecorded ? &recorded : nullptr);
      axpy(cuda, 0.5, beside.span(), x.span()); // 0.5 x + 0.5 2 (0.5 x)
      for (double& value : expected)
        value = 0.5 * value + 0.5 * (2 * (0.5 * value));
    }

    EXPECT_EQ(x.toHost(cuda), expected);
    EXPECT_EQ(calls, isRecorded ? 1u : 20u);
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
