#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// The meaning of the fixed parameters of a class of ITK's transforms, or what its parameters lack.
enum class ItkLayout { plain, identity, center, centerAndOrder, centerWithoutScale, grid };

/// A class of ITK's transforms whose parameters are those of one of Tessera's.
struct ItkTransformClass {
  const char* itkName;
  std::size_t dimension; // 0: any dimension
  const char* name;
  ItkLayout layout;
};

/// The class that a name such as "AffineTransform_double_3_3" begins with, for transforms in this dimension;
/// null if Tessera has no transform with its parameters.
const ItkTransformClass* findItkTransformClass(const std::string& className, std::size_t dimension);

/// Throws Error(unreadableInput) about a class that is not read, with a list of those that are.
[[noreturn]] void failToReadItkClass(const std::string& path, const std::string& className);

/// Whether every program with ITK reads transforms of a class: it does but for B-splines of another order
/// than 3, whose names end in the order.
bool isItkTransformClass(const std::string& className);

constexpr const char* itkFieldName = "DisplacementFieldTransform";

/// "Euler3DTransform", "double", "3", "3" of "Euler3DTransform_double_3_3". There is at least one part.
std::vector<std::string> partsOfItkName(const std::string& className);

/// The text for messages about files that are none of ITK's transforms.
inline const std::string itkTransformFiles =
    "an ITK transform file: .tfm or .txt (text), .h5, .hdf5 or .hdf (HDF5)";

/// D of such a name; 0 if it has none.
std::size_t itkDimension(const std::string& className);

}
