#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class FieldQuantity { displacements, derivatives };

/// A chain that is a B-spline along the axes of a lattice, and what evaluates it there.
template <int D>
struct FieldMethod {
  AlignedField<D> field;
  std::shared_ptr<const FieldInterpolator<D>> interpolator;
};

/// Throws Error(usage) `given: no such field interpolator. Known: ...` unless the name is "auto" or one that
/// the registry has.
void requireFieldInterpolator(const Registry&, const std::string& name, const std::string& given);

/// The ways to evaluate one chain in all voxels of one lattice: by a field interpolator, or by points.
template <int D>
class FieldMethods {
public:
  /// `name` as in (FieldInterpolator "name"); `given` shows it and where it stands, for errors.
  /// Throws Error(usage) if there is no such method.
  FieldMethods(const Registry&, const TransformChain<D>&, const ImageGeometry<D>& lattice, std::string name,
               std::string given);

  /// False for "auto".
  bool isNamed() const { return named_ != nullptr; }
  const std::string& given() const { return given_; }
  /// Empty if the chain is a B-spline along the lattice's axes; otherwise why it can only be evaluated by
  /// points.
  const std::string& whyByPoints() const { return whyByPoints_; }
  /// Empty if the device may be a CUDA one; otherwise why not.
  std::string whyNotOnCuda(FieldQuantity) const;
  /// Nothing: by points. Throws Error(usage) if a method was named that cannot do it, with those that can.
  std::optional<FieldMethod<D>> choose(DeviceKind, FieldQuantity) const;

private:
  using Method = std::shared_ptr<const FieldInterpolator<D>>;

  std::string refusal(const FieldInterpolator<D>&, DeviceKind, FieldQuantity) const;
  Method best(DeviceKind, FieldQuantity) const;

  std::string given_, whyByPoints_;
  std::optional<AlignedField<D>> field_;
  std::vector<Method> known_;
  Method named_; // null: auto
};

}
