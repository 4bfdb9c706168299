#include "Core/Registration/Fields/FieldMethods.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Fields/WholeField.h"

namespace tessera {
namespace {

constexpr const char* automatic = "auto";

std::vector<std::string> knownNames(const Registry& registry)
{
  std::vector<std::string> names;
  for (const ComponentDescription* description : registry.all())
    if (description->role == FieldInterpolator<3>::roleName)
      names.push_back(description->name);
  return names;
}

}

void requireFieldInterpolator(const Registry& registry, const std::string& name, const std::string& given)
{
  if (name == automatic || registry.find(FieldInterpolator<3>::roleName, name))
    return;
  std::vector<std::string> names = knownNames(registry);
  names.push_back(automatic);
  throw Error(ExitCode::usage, given + ": no such field interpolator." + didYouMean(name, names)
                                   + " Allowed: " + joined(names) + ".");
}

template <int D>
FieldMethods<D>::FieldMethods(const Registry& registry, const TransformChain<D>& chain,
                              const ImageGeometry<D>& lattice, const std::string& name, std::string given)
    : given_(std::move(given))
{
  requireFieldInterpolator(registry, name, given_);
  if (D == 4) {
    whyByPoints_ = "no field interpolator is for images of dimension 4";
    return;
  }
  const Parameters none(std::make_shared<ParameterMap>(), "", D, 1);
  for (const std::string& known : knownNames(registry)) {
    known_.push_back(registry.create<FieldInterpolator<D>>(known, none, given_));
    if (known == name)
      named_ = known_.back();
  }
  if (chain.initial) {
    whyByPoints_ = "the transform starts from an initial one";
    return;
  }
  if (const FieldForm<D>* form = chain.transform->field())
    field_ = form->alignedField(lattice);
  if (field_)
    return;
  whyByPoints_ = "the " + chain.transform->name() + " is no B-spline along the axes of the output grid";
  if (const WholeField<D>* whole = wholeFieldOf(chain)) {
    const std::string why = whole->whyNoField(DeviceKind::cuda, chain.parameters, lattice);
    isWholeOnCuda_ = why.empty();
    whyByPoints_ += why.empty() ? "" : ", and " + why;
  }
}

template <int D>
typename FieldMethods<D>::Method FieldMethods<D>::best(DeviceKind device, FieldQuantity quantity) const
{
  Method found;
  for (const Method& method : known_)
    if (method->rankForAuto() > (found ? found->rankForAuto() : 0)
        && refusal(*method, device, quantity).empty())
      found = method;
  return found;
}

template <int D>
std::string FieldMethods<D>::whyNotOnCuda(FieldQuantity quantity) const
{
  if (!field_)
    return isWholeOnCuda_ && quantity == FieldQuantity::displacements ? "" : whyByPoints_;
  if (named_)
    return named_->runsOn(DeviceKind::cuda)
               ? ""
               : "(FieldInterpolator \"" + named_->name() + "\") runs on the CPU only";
  if (best(DeviceKind::cuda, quantity))
    return "";
  std::string why;
  for (const Method& method : known_)
    if (method->rankForAuto() > 0)
      why += (why.empty() ? "" : "; ") + method->name() + ": " + refusal(*method, DeviceKind::cuda, quantity);
  return why;
}

template <int D>
std::optional<FieldMethod<D>> FieldMethods<D>::choose(DeviceKind device, FieldQuantity quantity) const
{
  if (!field_)
    return {};
  const Method method = named_ ? named_ : best(device, quantity);
  if (!method)
    return {};
  const std::string why = refusal(*method, device, quantity);
  if (why.empty())
    return FieldMethod<D>{*field_, method};
  std::vector<std::string> able;
  for (const Method& other : known_)
    if (refusal(*other, device, quantity).empty())
      able.push_back(other->name());
  if (device == DeviceKind::cpu || best(device, quantity))
    able.push_back(automatic);
  throw Error(ExitCode::usage, given_ + ": " + why + ". Allowed: "
                                   + (able.empty() ? "the device \"cpu\"" : joined(able)) + ".");
}

TESSERA_INSTANTIATE_CLASS_TO_4(FieldMethods);

}
