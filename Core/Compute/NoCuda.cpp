#include "Core/Compute/DeviceMemory.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/HostCopies.h"
#include "Core/Compute/PinnedRange.h"
#include "Core/Compute/Range.h"
#include "Core/Compute/Stream.h"
#include "Core/Compute/Transfers.h"
#include "Core/Compute/VectorOpsOnCuda.h"

// A build without the CUDA toolkit.
namespace tessera {

CudaDevices findCudaDevices()
{
  return {{}, "this build has no CUDA"};
}

namespace {

[[noreturn]] void fail(const char* what)
{
  throw Error(ExitCode::device,
              std::string("CUDA: ") + what + ": this build has no CUDA. Allowed: (Device \"cpu\").");
}

}

std::shared_ptr<Stream> Stream::onDevice(int)
{
  fail("a stream");
}

PinnedRange::PinnedRange(const Context&, const void*, std::size_t)
{
  fail("pinned memory");
}
PinnedRange::~PinnedRange() = default;

Range::Range(const char*) {}
Range::~Range() {}

double transferMilliseconds(const Context&)
{
  return 0;
}
void countTransfer(const Context&, double) {}
double bytesToDevice(const Context&)
{
  return 0;
}
void countBytesToDevice(const Context&, std::size_t) {}
double usableDeviceMemory(const Context&)
{
  fail("free memory");
}
double takePeakDeviceMemory(const Context&)
{
  fail("memory in use");
}

struct CopiesToHost::Piece {};
CopiesToHost::CopiesToHost(const Context& context) : context_(context)
{
  fail("copies to the host");
}
CopiesToHost::~CopiesToHost() = default;
void CopiesToHost::finish(int) {}
void CopiesToHost::begin(int, void*, const void*, std::size_t, After) {}

struct PiecesToDevice::Piece {};
PiecesToDevice::PiecesToDevice(const Context& context, std::size_t) : context_(context)
{
  fail("copies to a device");
}
PiecesToDevice::~PiecesToDevice() = default;
std::byte* PiecesToDevice::next()
{
  return nullptr;
}
void PiecesToDevice::send(void*, std::size_t) {}
void PiecesToDevice::finish() {}

void copyLargeToDevice(const Context&, void*, const void*, std::size_t)
{
  fail("a copy to a device");
}
void copyLargeToHost(const Context&, void*, const void*, std::size_t)
{
  fail("a copy from a device");
}

namespace oncuda {

double dot(const Context&, std::span<const double>, std::span<const double>)
{
  fail("a dot product");
}
std::array<double, 2> dots(const Context&, std::span<const double>, std::span<const double>)
{
  fail("dot products");
}
void dotInto(const Context&, std::span<const double>, std::span<const double>, double*)
{
  fail("a dot product");
}
double largestMagnitude(const Context&, std::span<const double>)
{
  fail("a vector's largest magnitude");
}
void combine(const Context&, double, std::span<const double>, double, std::span<double>)
{
  fail("a sum of vectors");
}
void multiplyInto(const Context&, std::span<const double>, std::span<const double>, std::span<double>)
{
  fail("a product of vectors");
}
void divideInto(const Context&, std::span<const double>, std::span<const double>, std::span<double>)
{
  fail("a quotient of vectors");
}
void fill(const Context&, double, std::span<double>)
{
  fail("a constant vector");
}
void toFloat(const Context&, std::span<const double>, std::span<float>)
{
  fail("a conversion");
}
void add(const Context&, std::span<const float>, std::span<float>)
{
  fail("a sum of vectors");
}

}

}
