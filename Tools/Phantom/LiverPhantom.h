#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <vector>

namespace tessera {

/// A CT-like abdomen (HU) with liver, tumours and vessels, before and after insufflation of the abdomen: gas
/// lifts the front wall and presses the liver down and back. The deformation is known in closed form.
class LiverPhantom {
public:
  /// `size` voxels at `spacingMm`, centred on the origin; x left, y back, z up (LPS). The seed draws noise,
  /// vessels and points; the front wall rises by `liftMm`, and all other motion is in proportion.
  LiverPhantom(Size<3> size, Vec<3> spacingMm, std::uint32_t seed = 0, double liftMm = usualLiftMm);
  static constexpr double usualLiftMm = 11;

  /// Before insufflation: the space in which the anatomy is drawn.
  Image<3> before(const Context&) const;
  /// After: after(T(x)) = before(x), by inversion of T at each voxel. Each number of `noise` draws its own.
  Image<3> after(const Context&, std::uint32_t noise = 1) const;
  /// 1 where the liver is, 2 in its tumours, 3 in the spine, else 0; before and after.
  Image<3> labelsBefore(const Context&) const;
  Image<3> labelsAfter(const Context&) const;

  /// Lifts the front wall by another distance.
  void lift(double liftMm) { lift_ = liftMm / usualLiftMm; }

  /// T: a point before insufflation to where it lies after (mm).
  Vec<3> movedMm(const Vec<3>& pointMm) const;

  /// Points inside the liver and the image, at vessels and at random.
  std::vector<Vec<3>> liverPointsMm(std::size_t count) const;

private:
  struct Tube {
    Vec<3> startMm, endMm;
    double radiusMm;
  };

  double tissueHu(const Vec<3>& pointMm) const;
  double liverDepthMm(const Vec<3>& pointMm) const;
  Vec<3> pointBeforeMm(const Vec<3>& pointAfterMm) const;
  void growVessels(const Vec<3>& startMm, const Vec<3>& direction, double lengthMm, double radiusMm,
                   int generation);
  double noisyTissueHu(const Vec<3>& pointMm, std::size_t voxel, std::uint32_t noiseStream) const;
  double label(const Vec<3>& pointMm) const;
  template <class ValueAt>
  Image<3> draw(const Context&, ValueAt&&) const; // of valueAt(point, voxel)

  bool isInside(const Vec<3>& pointMm) const; // of the image

  ImageGeometry<3> geometry_;
  std::uint32_t seed_;
  double lift_; // in proportion to the usual one
  std::vector<Tube> vessels_;
};

}
