#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class FieldQuantity { displacements, derivatives };

/// The last transform of a chain as a field over a lattice, and the field interpolator that evaluates it.
template <int D>
struct FieldMethod {
  AlignedField<D> field;
  std::shared_ptr<const FieldInterpolator<D>> interpolator;
};

/// Throws Error(usage) `given: no such field interpolator. Allowed: ...` unless `name` is "auto" or a name
/// that the registry has.
void requireFieldInterpolator(const Registry&, const std::string& name, const std::string& given);

/// The ways to evaluate one chain at all voxels of one lattice: by a field interpolator, or point by point.
template <int D>
class FieldMethods {
public:
  /// `name` is that of (FieldInterpolator "name"). `given` is the text with its place that error messages
  /// show. Throws Error(usage) if there is no such method.
  FieldMethods(const Registry&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
               const std::string& name, std::string given);

  /// False if the name is "auto".
  bool isNamed() const { return named_ != nullptr; }
  const std::string& given() const { return given_; }
  /// Empty if the chain is a B-spline along the lattice's axes; otherwise the reason why it goes point by
  /// point.
  const std::string& whyByPoints() const { return whyByPoints_; }
  /// Empty if a CUDA device can be used; otherwise the reason why not.
  std::string whyNotOnCuda(FieldQuantity) const;
  /// The method for this device and quantity; nothing if points have to be evaluated one by one. Throws
  /// Error(usage), with the methods that can, if the named one cannot do it.
  std::optional<FieldMethod<D>> choose(DeviceKind, FieldQuantity) const;

private:
  using Method = std::shared_ptr<const FieldInterpolator<D>>;

  std::string refusal(const FieldInterpolator<D>& method, DeviceKind device, FieldQuantity quantity) const
  {
    if (!method.runsOn(device))
      return std::string("it does not run on ") + (device == DeviceKind::cuda ? "CUDA" : "the CPU");
    if (quantity == FieldQuantity::derivatives && !method.hasDerivatives())
      return "it gives displacements, not their derivatives";
    return method.refusal(*field_);
  }
  Method best(DeviceKind, FieldQuantity) const;

  std::string given_, whyByPoints_;
  bool isWholeOnCuda_ = false; // displacements have a way of their own on CUDA (WholeField)
  std::optional<AlignedField<D>> field_;
  std::vector<Method> known_;
  Method named_; // null if the name is "auto"
};

}
