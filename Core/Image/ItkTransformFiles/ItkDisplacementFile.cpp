#include "Core/Image/ItkTransformFiles/ItkDisplacementFile.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ItkSupport.h"

#include <itkCompositeTransform.h>
#include <itkDisplacementFieldTransform.h>
#include <itkHDF5TransformIO.h>

#include <algorithm>

namespace tessera {

template <int D>
void writeItkDisplacementField(const std::string& path, const VectorImage<D>& field)
{
  using Transform = itk::DisplacementFieldTransform<float, D>;
  using Field = typename Transform::DisplacementFieldType;
  AtomicFile file(path);
  try {
    const auto image = Field::New();
    typename Field::SizeType size;
    typename Field::PointType origin;
    typename Field::SpacingType spacing;
    typename Field::DirectionType direction;
    for (int d = 0; d < D; ++d) {
      size[d] = field.geometry.size[d];
      origin[d] = field.geometry.originMm[d];
      spacing[d] = field.geometry.spacingMm[d];
      for (int e = 0; e < D; ++e)
        direction[d][e] = field.geometry.direction[d][e];
    }
    image->SetRegions(size);
    image->SetOrigin(origin);
    image->SetSpacing(spacing);
    image->SetDirection(direction);
    image->Allocate();
    std::ranges::copy(field.voxels, image->GetBufferPointer()->GetDataPointer());
    const auto transform = Transform::New();
    transform->SetDisplacementField(image);
    const auto composite = itk::CompositeTransform<float, D>::New();
    composite->AddTransform(transform);
    const auto io = itk::HDF5TransformIOTemplate<float>::New();
    itk::TransformIOBaseTemplate<float>::ConstTransformListType list;
    list.push_back(itk::TransformBaseTemplate<float>::ConstPointer(composite));
    io->SetTransformList(list);
    io->SetUseCompression(true);
    io->SetFileName(file.temporaryPath());
    io->Write();
  } catch (const std::exception& exception) {
    file.fail("the field cannot be written: " + itkMessage(exception));
  }
  file.commit();
}

template void writeItkDisplacementField(const std::string&, const VectorImage<2>&);
template void writeItkDisplacementField(const std::string&, const VectorImage<3>&);

}
