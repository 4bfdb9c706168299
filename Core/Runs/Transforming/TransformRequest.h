#pragma once

#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Runs/RunRequest.h"

#include <set>

namespace tessera {

/// All that applying transforms needs to know.
struct TransformRequest {
  std::vector<GivenTransform> transforms; // in the order in which they are applied
  std::set<std::size_t> inverseOf;        // which of them are inverted, counted from 1
  std::string matrixFormat;               // fsl, greedy or niftyreg: they are matrices as text; empty: not
  // Of resampling, and for transforms in memory (UseDirectionCosines ...); null: those of the last transform.
  std::shared_ptr<const ParameterMap> settings;
  std::vector<GivenImage> images, labels;
  std::vector<std::string> lists; // files that named images; then a single result is named after its image
  std::string labelInterpolation = "nearest"; // or "majority"
  GivenPoints points;
  GivenGrid grid;                               // of the output; not given: the transform file's
  std::vector<double> spacingMm;                // of the output; empty: that of the grid
  std::string cropMask;                         // a mask about which the grid is cut; empty: none
  std::vector<std::size_t> cropFirst, cropLast; // or the corner voxels to which it is cut; empty: not
  double cropMarginMm = 0;
  GivenGrid moving; // of the moving side
  bool field = false, determinants = false, matrices = false;
  bool nonlinear = false;        // determinants without the linear transforms
  bool logarithm = false;        // of determinants
  bool description = false;      // of what the transform does
  bool inverse = false;          // apply T^-1 instead of T
  std::string write;             // a file to which the transform is written; empty: none
  std::string format;            // the program that it is for; empty: by its ending
  bool inverseAsSpline = false;  // there, as a B-spline instead of a field
  std::string fieldInterpolator; // empty: as the transform file says
  ReadingOptions reading;        // of all images
  bool resultsAreShort = false;  // without ResultImagePixelType, as in elastix

  std::string outputFolder; // where the caller writes; the run checks names and room there; empty: nowhere
  std::string device = "auto";
  int threads = 1;
  double maxMemory = 0; // bytes of host memory for images; 0: a share of the free memory
  double maxDeviceMemory = std::numeric_limits<double>::infinity(); // bytes of a CUDA device
  /// Images and label maps of this time of a series, counted from 0, are carried to all times, and so is the
  /// field of where they lie. T is that of the series to what its times have in common. Empty: T is applied.
  std::optional<std::size_t> fromTime = {};
  std::string imagesOption = "-in", labelsOption = "--labels"; // which messages name
};

inline bool hasImages(const TransformRequest& request)
{
  return !request.images.empty() || !request.labels.empty();
}

/// A field that a request asks for.
struct FieldAskedFor {
  std::string option, stem; // stem: of the name of its file
  int components = 1;       // of a voxel: 1 for determinants
  FieldQuantity quantity = FieldQuantity::derivatives;
};

inline std::vector<FieldAskedFor> fieldsOf(const TransformRequest& request, int dimension)
{
  std::vector<FieldAskedFor> fields;
  if (request.field)
    fields.push_back({"-def all", "deformationField", dimension, FieldQuantity::displacements});
  if (request.determinants)
    fields.push_back({"-jac all", "spatialJacobian"});
  if (request.matrices)
    fields.push_back({"-jacmat all", "fullSpatialJacobian", dimension * dimension});
  return fields;
}

inline bool hasFields(const TransformRequest& request)
{
  return request.field || request.determinants || request.matrices;
}

/// Whether results are asked for that lie on the output grid.
inline bool needsGrid(const TransformRequest& request)
{
  return hasImages(request) || hasFields(request) || request.description || !request.write.empty();
}

}
