#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Testing/Support/Checks/FieldChecks.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"

namespace tessera::testing {

/// The function under test; all pointers lie on the device of the context.
template <int D>
using DeviceFieldFunction =
    std::function<void(Context&, const AlignedField<D>&, const FieldCoefficients&, const FieldTarget&)>;

/// A function of the device under test from and to arrays of the host, `components` a voxel. What lies before
/// and behind the values must stay.
template <int D>
FieldFunction<D> underTest(const std::string& name, int components, const DeviceFieldFunction<D>& function)
{
  if (deviceUnderTest().kind == DeviceKind::cpu)
    return [=](Context& context, const AlignedField<D>& field, const std::vector<double>& coefficients,
               const FieldTarget& target) {
      function(context, field, {coefficients.data(), nullptr}, target);
    };
  return [=](Context&, const AlignedField<D>& field, const std::vector<double>& coefficients,
             const FieldTarget& target) {
    constexpr std::size_t guard = 1024;
    constexpr float untouched = -4321;
    const std::size_t count = components * field.voxelCount();
    Context context = contextUnderTest();
    const std::vector<float> points(coefficients.begin(), coefficients.end());
    std::vector<float> values(count + 2 * guard, untouched);
    std::copy(target.values, target.values + count, values.begin() + guard);
    Buffer<float> onDevice(context, values.size()), pointsOnDevice(context, points.size());
    Buffer<std::uint8_t> mask(context, target.mask ? field.voxelCount() : 1);
    onDevice.fromHost(context, values);
    pointsOnDevice.fromHost(context, points);
    if (target.mask)
      mask.fromHost(context, {target.mask, field.voxelCount()});

    function(context, field, {nullptr, pointsOnDevice.span().data()},
             {onDevice.span().data() + guard, target.layout, target.mask ? mask.span().data() : nullptr});

    values = onDevice.toHost(context);
    std::copy(values.begin() + guard, values.end() - guard, target.values);
    for (std::size_t i = 0; i < guard; ++i) {
      ASSERT_EQ(values[i], untouched)
          << name << " wrote " << guard - i << " values before the field: " << describe(field);
      ASSERT_EQ(values[guard + count + i], untouched)
          << name << " wrote " << i + 1 << " values behind the field: " << describe(field);
    }
  };
}

}
