#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/Pictures/PictureBytes.h"
#include "Core/Image/Pictures/PictureParts.h"
#include "Core/Registration/Samples/Samples.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// A registration to be shown.
template <int D>
struct ShownRun {
  ImagePointer<D> fixed, moving;
  MaskPointer<D> fixedMask;                  // null: none
  Matrix<D> headerDirection{};               // of the fixed image; says which way is up
  const TransformChain<D>* before = nullptr; // of -t0; null: the images as they lie
  const TransformChain<D>* result = nullptr; // null: it failed, and only its start is shown
  ImagePointer<D> fixedLabels, movingLabels; // null: none
  std::vector<std::int64_t> labels = {};     // for which their numbers from 0 stand; empty: for themselves
  PointPairs<D> points = {};                 // landmarks of both images; empty: none
  /// Red, green and blue of images in colour, from 0 to 255; empty: grey.
  std::vector<ImagePointer<D>> fixedColours = {}, movingColours = {};
  MaskPointer<D> movingMask = nullptr; // null: none
  std::string overTime = {};           // in HTML, what the page shows of a series; empty: none
};

/// The pictures of a slice as files: JPEG for images, PNG for the others. Those with a transparent ground lie
/// over images. Empty: there is no such picture. Paths and places are in units of half a pixel from the left
/// upper corner.
struct SlicePicture {
  struct Label {
    std::string fixed, warped; // paths of SVG
  };
  /// Where a point of the fixed image lies, and where the images before and after the registration show the
  /// point of the moving image that belongs to it, but for the transform's own derivative.
  struct Landmark {
    using Place = std::array<double, 2>;
    Place fixed{}, before{}, warped{};
  };
  std::string plane, position; // see PictureSlice
  std::array<std::string, 4> letters;
  std::size_t width = 0, height = 0; // in pixels
  std::string fixed, before, warped;
  std::string edges;        // of the fixed image; transparent
  std::string grid;         // where the coordinates in the moving image are multiples of gridMm; transparent
  std::string determinants; // of the spatial Jacobian; see determinantColours
  std::string displacement; // its length; see displacementColours
  /// Outlines as paths of SVG: of the fixed mask, and of the moving one before and after the registration.
  std::string fixedMask, maskBefore, warpedMask;
  std::map<std::int64_t, Label> labels;
  std::vector<Landmark> landmarks; // that are nearer to this slice than to the others of its plane
};

struct RunPictures {
  std::vector<SlicePicture> slices;    // in the order of the planes
  std::array<GreyRange, 2> greyRanges; // of the fixed and the moving image
  bool areColours = false;             // of both images, shown as in their files
  double largestDisplacementMm = 0;    // in the slices
  double gridMm = 0;
  std::size_t labelsLeftOut = 0; // whose outlines found no room
  bool leavesMasksOut = false;
  std::string keptTransform; // of a run that did not end: the file that made the warped image
  // JPEG of 288 x 96: fixed, before, warped with the edges of the fixed; in 4D the mean afterwards; empty:
  // none
  std::string thumbnail;
  std::string overTime; // of ShownRun
};

/// A picture of a slice, and the class by which a page knows it.
struct PictureLayer {
  const char *name, *type;
  std::string SlicePicture::*picture;
  const char* shows;
};
extern const std::array<PictureLayer, 7> pictureLayers;

/// Colours of a map. Determinants: from 1/4 or less to 4 or more in equal steps of the logarithm, and the
/// last colour for folds (0 or less). Displacements: from 0 to largestDisplacementMm. Dice: from 0 to 1.
extern const std::vector<Colour> determinantColours, displacementColours, diceColours;

constexpr std::size_t maxPictureBytes = 1'900'000; // in base64 and with the rest a page stays below 3 MB
constexpr std::size_t maxOutlineBytes = 1'000'000; // of labels and masks together

/// Resamples both images on slices of the fixed one, with linear interpolation, in the ranges of grey values
/// of greyRangesOf(). Outlines take at most maxOutlineBytes, all pictures together maxPictureBytes: JPEG
/// loses quality, then slices are left out. Runs on the CPU; the result does not depend on the number of
/// threads.
template <int D>
RunPictures runPictures(const Context&, const Registry&, const ShownRun<D>&);

}
