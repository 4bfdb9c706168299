#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"

#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array<ItkTransformClass, 12> classes{{
    {"TranslationTransform", 0, "TranslationTransform", ItkLayout::plain},
    {"IdentityTransform", 0, "TranslationTransform", ItkLayout::identity},
    {"Euler2DTransform", 2, "EulerTransform", ItkLayout::center},
    {"Rigid2DTransform", 2, "EulerTransform", ItkLayout::center},
    {"Euler3DTransform", 3, "EulerTransform", ItkLayout::centerAndOrder},
    {"VersorRigid3DTransform", 3, "SimilarityTransform", ItkLayout::centerWithoutScale},
    {"Similarity2DTransform", 2, "SimilarityTransform", ItkLayout::center},
    {"Similarity3DTransform", 3, "SimilarityTransform", ItkLayout::center},
    {"AffineTransform", 0, "AffineTransform", ItkLayout::center},
    {"MatrixOffsetTransformBase", 0, "AffineTransform", ItkLayout::center},
    {"BSplineTransform", 0, "BSplineTransform", ItkLayout::grid},
    {"BSplineDeformableTransform", 0, "BSplineTransform", ItkLayout::grid},
}};

}

const ItkTransformClass* findItkTransformClass(const std::string& className, std::size_t dimension)
{
  const std::string name = partsOfItkName(className).front();
  const auto found = std::ranges::find_if(classes, [&](const ItkTransformClass& one) {
    return name == one.itkName && (one.dimension == 0 || one.dimension == dimension);
  });
  return found == classes.end() ? nullptr : &*found;
}

void failToReadItkClass(const std::string& path, const std::string& className)
{
  std::string names;
  for (const ItkTransformClass& one : classes)
    names += one.itkName + std::string(", ");
  failToRead(path, className + ": no transform of this class is read",
             names + itkFieldName
                 + ", other linear transforms of ITK, and composites of them, in 2D and 3D, B-splines of "
                   "orders 0 to 3");
}

bool isItkTransformClass(const std::string& className)
{
  return partsOfItkName(className).size() < 5;
}

std::vector<std::string> partsOfItkName(const std::string& className)
{
  std::vector<std::string> parts; // a stream would lose parts without a word where memory ends
  for (std::size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = className.find('_', start);
    parts.push_back(className.substr(start, end == std::string::npos ? end : end - start));
  }
  return parts;
}

std::size_t itkDimension(const std::string& className)
{
  const std::vector<std::string> parts = partsOfItkName(className);
  const auto dimension = parts.size() > 2 ? parseInteger(parts[2]) : std::nullopt;
  return dimension && *dimension > 0 ? static_cast<std::size_t>(*dimension) : 0;
}

}
