#include "Core/Registration/TransformFiles/ItkTransformConversion.h"

#include "Core/Compute/Error.h"
#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/TransformFiles/DisplacementForm.h"

#include <array>
#include <cmath>

namespace tessera {
namespace {

const ItkTransformClass& classOf(const ItkTransform& transform, std::size_t dimension,
                                 const std::string& path)
{
  const std::size_t given = itkDimension(transform.className);
  if (given != 0 && given != dimension)
    failAs(ExitCode::unreadableInput, path,
           transform.className + ": a transform in " + std::to_string(given) + "D where "
               + std::to_string(dimension) + "D is needed",
           "transforms of the images' dimension");
  const ItkTransformClass* const found = findItkTransformClass(transform.className, dimension);
  if (!found)
    failToReadItkClass(path, transform.className);
  return *found;
}

void checkFixedCount(const ItkTransform& transform, std::size_t least, const std::string& path)
{
  if (transform.fixedParameters.size() < least)
    failAs(ExitCode::unreadableInput, path,
           transform.className + ": " + std::to_string(transform.fixedParameters.size())
               + " fixed parameters",
           std::to_string(least));
}

ParameterEntry entryOf(const std::string& name, const double* first, std::size_t count)
{
  ParameterEntry entry{name, {}, 0};
  for (std::size_t i = 0; i < count; ++i)
    entry.values.push_back(realText(first[i]));
  return entry;
}

/// The field of a DisplacementFieldTransform, whose fixed parameters are size, origin, spacing and direction.
template <int D>
VectorImage<D> fieldOf(const ItkTransform& transform, const std::string& path)
{
  const std::string where = path + ": " + transform.className + ": ";
  checkFixedCount(transform, 3 * D + D * D, path);
  if (const std::size_t given = itkDimension(transform.className); given != D)
    throw Error(ExitCode::unreadableInput,
                where + "a transform in " + std::to_string(given) + "D where " + std::to_string(D)
                    + "D is needed. Allowed: transforms of the images' dimension.");
  const double* fixed = transform.fixedParameters.data();
  VectorImage<D> field;
  double values = D;
  for (int d = 0; d < D; ++d) {
    values *= fixed[d];
    field.geometry.size[d] = fixed[d] >= 1 ? static_cast<std::size_t>(fixed[d]) : 0;
    field.geometry.originMm[d] = fixed[D + d];
    field.geometry.spacingMm[d] = fixed[2 * D + d];
    for (int column = 0; column < D; ++column)
      field.geometry.direction[d][column] = fixed[3 * D + d * D + column];
    if (!(field.geometry.spacingMm[d] > 0))
      throw Error(ExitCode::unreadableInput,
                  where + "a spacing of " + realText(fixed[2 * D + d]) + " mm. Allowed: spacings above 0.");
  }
  if (values != static_cast<double>(transform.parameters.size()))
    throw Error(ExitCode::unreadableInput, where + std::to_string(transform.parameters.size())
                                               + " displacements. Allowed: " + realText(values)
                                               + ", as its grid says.");
  if (!(std::abs(determinant(field.geometry.direction)) > 1e-6))
    throw Error(ExitCode::unreadableInput,
                where + "the axes of its grid do not span the space. Allowed: orthogonal unit vectors.");
  field.voxels.assign(transform.parameters.begin(), transform.parameters.end());
  return field;
}

std::string orderOf(const ItkTransform& spline)
{
  const std::vector<std::string> parts = partsOfItkName(spline.className);
  return parts.size() > 4 ? parts[4] : "3";
}

template <int D>
void addGrid(const ItkTransform& transform, ParameterMap& map)
{
  // Size, origin, spacing, then the direction row by row.
  const double* fixed = transform.fixedParameters.data();
  map.add(entryOf("GridSize", fixed, D));
  map.add(entryOf("GridOrigin", fixed + D, D));
  map.add(entryOf("GridSpacing", fixed + 2 * D, D));
  std::array<double, D * D> columns;
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      columns[column * D + row] = fixed[3 * D + row * D + column];
  map.add(entryOf("GridDirection", columns.data(), D * D));
  map.add({"BSplineTransformSplineOrder", {orderOf(transform)}, 0});
}

}

template <int D>
ParameterMap parametersFromItk(const ItkTransform& transform, const std::string& path,
                               const Parameters::Warn& warn)
{
  const ItkTransformClass& itkClass = classOf(transform, D, path);
  std::vector<double> values = transform.parameters;
  ParameterMap map(path);
  // ITK counts the border of order 0 with a number below 0 in an unsigned type (BSplineTransform,
  // InsideValidRegion), so that no point lies inside the grid.
  const bool isStill = itkClass.layout == ItkLayout::grid && orderOf(transform) == "0";
  if (isStill && warn)
    warn(path + ": " + transform.className
         + ": a B-spline of order 0 moves no point, as in ITK and SimpleITK.");
  switch (isStill ? ItkLayout::identity : itkClass.layout) {
  case ItkLayout::plain:
    break;
  case ItkLayout::identity:
    values.assign(D, 0.0);
    break;
  case ItkLayout::centerWithoutScale:
    values.push_back(1.0);
    [[fallthrough]];
  case ItkLayout::center:
  case ItkLayout::centerAndOrder:
    checkFixedCount(transform, D, path);
    map.add(entryOf("CenterOfRotationPoint", transform.fixedParameters.data(), D));
    if (itkClass.layout == ItkLayout::centerAndOrder)
      map.add({"ComputeZYX",
               {transform.fixedParameters.size() > D && transform.fixedParameters[D] != 0 ? "true" : "false"},
               0});
    break;
  case ItkLayout::grid:
    checkFixedCount(transform, 3 * D + D * D, path);
    addGrid<D>(transform, map);
    break;
  }
  map.add({"Transform", {isStill ? "TranslationTransform" : itkClass.name}, 0});
  map.add(entryOf("TransformParameters", values.data(), values.size()));
  return map;
}

template <int D>
ChainPointer<D> chainFromItk(const std::vector<ItkTransform>& transforms, const Registry& registry,
                             const std::string& path, const Parameters::Warn& warn, ChainPointer<D> initial)
{
  if (transforms.empty())
    failAs(ExitCode::unreadableInput, path, "no transform in it", "a file with at least one");
  ChainPointer<D> chain = std::move(initial);
  for (auto transform = transforms.rbegin(); transform != transforms.rend(); ++transform) {
    if (partsOfItkName(transform->className).front() == itkFieldName) {
      TransformChain<D> field = *chainFromField<D>(fieldOf<D>(*transform, path), registry, path);
      field.initial = std::move(chain);
      chain = std::make_shared<TransformChain<D>>(std::move(field));
      continue;
    }
    const auto map = std::make_shared<ParameterMap>(parametersFromItk<D>(*transform, path, warn));
    const Parameters parameters(map, "", D, 1, warn);
    std::shared_ptr<Transform<D>> restored =
        registry.create<Transform<D>>(map->find("Transform")->values[0], parameters, path);
    std::vector<double> values = restored->restore({}, parameters);
    chain = std::make_shared<TransformChain<D>>(
        TransformChain<D>{chain, Combination::compose, restored, std::move(values)});
  }
  return chain;
}

template <int D>
ChainPointer<D> chainFromField(VectorImage<D> field, const Registry& registry, const std::string& path)
{
  if (field.components != D)
    failAs(ExitCode::unreadableInput, path,
           "an image of " + std::to_string(field.components) + " component(s) is no field of displacements",
           std::to_string(D) + ", a displacement in mm along each axis");
  for (const float value : field.voxels)
    if (!std::isfinite(value))
      failAs(ExitCode::unreadableInput, path, "a displacement is " + realText(value), "finite numbers of mm");
  const Parameters none(std::make_shared<ParameterMap>(path), "", D, 1);
  const std::shared_ptr<Transform<D>> transform =
      registry.create<Transform<D>>("DeformationFieldTransform", none, path);
  dynamic_cast<DisplacementForm<D>&>(*transform)
      .setDisplacements(std::make_shared<const VectorImage<D>>(std::move(field)));
  return std::make_shared<TransformChain<D>>(TransformChain<D>{nullptr, Combination::compose, transform, {}});
}

template <int D>
ItkTransform itkAffine(const AffineMap<D>& map)
{
  const std::string dimension = std::to_string(D);
  ItkTransform itk{"AffineTransform_double_" + dimension + "_" + dimension, std::vector<double>(D), {}};
  for (const auto& row : map.matrix)
    itk.parameters.insert(itk.parameters.end(), row.begin(), row.end());
  itk.parameters.insert(itk.parameters.end(), map.offset.begin(), map.offset.end());
  return itk;
}

template <int D>
ItkTransform itkBSpline(const BSplineGrid<D>& grid, std::span<const double> coefficientsMm)
{
  const std::string dimension = std::to_string(D);
  ItkTransform itk{"BSplineTransform_double_" + dimension + "_" + dimension,
                   {grid.points.size.begin(), grid.points.size.end()},
                   {coefficientsMm.begin(), coefficientsMm.end()}};
  if (grid.order != 3)
    itk.className += "_" + std::to_string(grid.order);
  const auto add = [&](const auto& values) {
    itk.fixedParameters.insert(itk.fixedParameters.end(), values.begin(), values.end());
  };
  add(grid.points.originMm);
  add(grid.points.spacingMm);
  for (const auto& row : grid.points.direction)
    add(row);
  return itk;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(itkBSpline<D>, itkAffine<D>, chainFromField<D>, parametersFromItk<D>,
                                   chainFromItk<D>);

}
