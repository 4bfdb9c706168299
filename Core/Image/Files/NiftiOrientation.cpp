#include "Core/Image/Files/NiftiOrientation.h"

#include <vnl/algo/vnl_determinant.h>
#include <vnl/algo/vnl_matrix_inverse.h>
#include <vnl/vnl_matrix_fixed.h>

#include <algorithm>
#include <cmath>

// The arithmetic below is that of nifti1_io.c, which is in the public domain, with its single, double and
// extended precision: other roundings would place voxels elsewhere than ITK does, by the last bit.

namespace tessera {
namespace {

using Mat33 = std::array<std::array<float, 3>, 3>;
using Vnl33 = vnl_matrix_fixed<float, 3, 3>;
using Vnl44 = vnl_matrix_fixed<float, 4, 4>;

/// The determinant as nifti_mat33_determ and nifti_mat33_inverse add it.
double determinant(const Mat33& m)
{
  const double r11 = m[0][0], r12 = m[0][1], r13 = m[0][2], r21 = m[1][0], r22 = m[1][1], r23 = m[1][2],
               r31 = m[2][0], r32 = m[2][1], r33 = m[2][2];
  return r11 * r22 * r33 - r11 * r32 * r23 - r21 * r12 * r33 + r21 * r32 * r13 + r31 * r12 * r23
         - r31 * r22 * r13;
}

Mat33 inverse(const Mat33& m)
{
  const double r11 = m[0][0], r12 = m[0][1], r13 = m[0][2], r21 = m[1][0], r22 = m[1][1], r23 = m[1][2],
               r31 = m[2][0], r32 = m[2][1], r33 = m[2][2];
  double factor = determinant(m);
  if (factor != 0)
    factor = static_cast<double>(1.0L / factor);
  const auto scaled = [factor](double value) { return static_cast<float>(factor * value); };
  return {{{scaled(r22 * r33 - r32 * r23), scaled(-r12 * r33 + r32 * r13), scaled(r12 * r23 - r22 * r13)},
           {scaled(-r21 * r33 + r31 * r23), scaled(r11 * r33 - r31 * r13), scaled(-r11 * r23 + r21 * r13)},
           {scaled(r21 * r32 - r31 * r22), scaled(-r11 * r32 + r31 * r12), scaled(r11 * r22 - r21 * r12)}}};
}

float largestNorm(const Mat33& m, bool ofRows)
{
  float largest = 0;
  for (int i = 0; i < 3; ++i) {
    const auto at = [&](int j) { return std::abs(static_cast<double>(ofRows ? m[i][j] : m[j][i])); };
    largest = std::max(largest, static_cast<float>(at(0) + at(1) + at(2)));
  }
  return largest;
}

/// nifti_mat33_polar: the orthogonal matrix nearest to `x` (N. J. Higham, SIAM J. Sci. Stat. Comput. 7:1160).
Mat33 nearestOrthogonal(Mat33 x)
{
  while (static_cast<float>(determinant(x)) == 0) {
    const auto added = static_cast<float>(0.00001 * (0.001 + static_cast<double>(largestNorm(x, true))));
    for (int i = 0; i < 3; ++i)
      x[i][i] += added;
  }
  const auto root = [](float value) { return static_cast<float>(std::sqrt(static_cast<double>(value))); };
  float change = 1;
  for (int step = 1;; ++step) {
    const Mat33 y = inverse(x);
    float gamma = 1, inverted = 1;
    if (static_cast<double>(change) > 0.3) {
      const float alpha = root(largestNorm(x, true) * largestNorm(x, false)),
                  beta = root(largestNorm(y, true) * largestNorm(y, false));
      gamma = root(beta / alpha);
      inverted = static_cast<float>(1.0 / static_cast<double>(gamma));
    }
    Mat33 z;
    double moved = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        z[i][j] = static_cast<float>(0.5 * static_cast<double>(gamma * x[i][j] + inverted * y[j][i]));
        moved += std::abs(static_cast<double>(z[i][j] - x[i][j]));
      }
    change = static_cast<float>(moved);
    if (step > 100 || static_cast<double>(change) < 3.e-6)
      return z;
    x = z;
  }
}

/// nifti_mat44_to_quatern.
void setQuaternion(const Mat33& matrix, NiftiForms& forms)
{
  Mat33 unit;
  for (int j = 0; j < 3; ++j) {
    const double x = matrix[0][j], y = matrix[1][j], z = matrix[2][j];
    const double length = std::sqrt(x * x + y * y + z * z);
    for (int i = 0; i < 3; ++i)
      unit[i][j] = length == 0 ? static_cast<float>(i == j)
                               : static_cast<float>(static_cast<double>(matrix[i][j]) / length);
  }
  unit = nearestOrthogonal(unit);
  forms.pixdim[0] = determinant(unit) > 0 ? 1.0F : -1.0F;
  const double flip = forms.pixdim[0], r11 = unit[0][0], r12 = unit[0][1], r13 = flip * unit[0][2],
               r21 = unit[1][0], r22 = unit[1][1], r23 = flip * unit[1][2], r31 = unit[2][0],
               r32 = unit[2][1], r33 = flip * unit[2][2];
  const auto half = [](double value) { return static_cast<double>(0.5L * std::sqrt(value)); };
  const auto quarter = [](double value, double by) { return static_cast<double>(0.25L * value / by); };
  double a = static_cast<double>(r11 + r22 + r33 + 1.0L), b = 0, c = 0, d = 0;
  if (a > 0.5) {
    a = half(a);
    b = quarter(r32 - r23, a), c = quarter(r13 - r31, a), d = quarter(r21 - r12, a);
  } else {
    const double x = 1.0 + r11 - (r22 + r33), y = 1.0 + r22 - (r11 + r33), z = 1.0 + r33 - (r11 + r22);
    if (x > 1) {
      b = half(x);
      c = quarter(r12 + r21, b), d = quarter(r13 + r31, b), a = quarter(r32 - r23, b);
    } else if (y > 1) {
      c = half(y);
      b = quarter(r12 + r21, c), d = quarter(r23 + r32, c), a = quarter(r13 - r31, c);
    } else {
      d = half(z);
      b = quarter(r13 + r31, d), c = quarter(r23 + r32, d), a = quarter(r21 - r12, d);
    }
    if (a < 0)
      b = -b, c = -c, d = -d;
  }
  forms.quatern = {static_cast<float>(b), static_cast<float>(c), static_cast<float>(d)};
}

Vnl44 asVnl(const NiftiMatrix& matrix)
{
  Vnl44 result(0.0F);
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned j = 0; j < 4; ++j)
      result(i, j) = matrix[i][j];
  result(3, 3) = 1;
  return result;
}

/// IsAffine of itkNiftiImageIO.cxx for a last row of 0, 0, 0, 1.
bool isAffine(const Vnl44& matrix)
{
  if (std::abs(vnl_determinant(matrix)) <= 1e-5)
    return false;
  const Vnl44 whole = vnl_matrix_inverse<float>(matrix.as_matrix()).as_matrix();
  const Vnl33 part = vnl_matrix_inverse<float>(matrix.extract(3, 3, 0, 0)).as_matrix();
  const vnl_vector_fixed<float, 3> offset(whole[0][3], whole[1][3], whole[2][3]),
      ofPart = -(part * matrix.get_column(3).extract(3));
  constexpr float tolerance = 1e-2F;
  return !((whole.extract(3, 3, 0, 0) - part).array_one_norm() > tolerance
           || (offset - ofPart).one_norm() > tolerance);
}

/// Whether an sform is a rotation and the spacing of the header.
bool isWithoutSkew(const Vnl44& sform, const NiftiForms& forms)
{
  if (!isAffine(sform))
    return false;
  Vnl33 rotation = sform.extract(3, 3, 0, 0);
  constexpr float tolerance = 1e-3F;
  for (unsigned i = 0; i < 3; ++i)
    if (std::abs(forms.pixdim[i + 1] - rotation.get_column(i).magnitude()) > tolerance)
      return false;
  for (unsigned i = 0; i < 3; ++i)
    rotation.set_column(i, rotation.get_column(i).normalize());
  return Vnl33(rotation * rotation.transpose()).is_identity(1.0e-4);
}

/// Whether the voxels of an sform are as wide as the header says, to a tenth of a voxel in a thousand.
bool hasSpacing(const Vnl44& sform, const NiftiForms& forms)
{
  constexpr float tolerance = 1e-4F;
  for (unsigned i = 0; i < 3; ++i)
    if (const float width = sform.get_column(i).magnitude();
        !(std::abs(forms.pixdim[i + 1] - width) <= tolerance * width))
      return false;
  return true;
}

/// The form that ITK takes, and without a qform any sform with the spacing of the header: ITK 5.2 refuses
/// voxels below 0.03 mm (its issue 2674) and axes that are not quite perpendicular. Empty if there is none.
std::optional<NiftiMatrix> formInUse(const NiftiForms& forms)
{
  constexpr int scanner = 1; // NIFTI_XFORM_SCANNER_ANAT
  const bool hasQform = forms.qformCode > 0, hasSform = forms.sformCode > 0;
  NiftiMatrix qform{};
  if (hasQform)
    qform = niftiQform(forms);
  else
    for (int i = 0; i < 3; ++i)
      qform[i][i] = forms.pixdim[i + 1];
  const Vnl44 s = asVnl(forms.srow), q = asVnl(qform);
  bool takesSform = hasSform && s.extract(3, 3, 0, 0).is_equal(q.extract(3, 3, 0, 0), 1e-5)
                    && !((s.get_column(3) - q.get_column(3)).one_norm() > 1e-7);
  if (hasSform && isWithoutSkew(s, forms))
    takesSform = !hasQform || forms.sformCode == scanner || Vnl44(s * q.transpose()).is_identity(1.0e-4);
  if (!takesSform && !hasQform && !hasSpacing(s, forms))
    return std::nullopt;
  return takesSform || !hasQform ? forms.srow : qform;
}

}

NiftiMatrix niftiQform(const NiftiForms& forms)
{ // nifti_quatern_to_mat44
  double b = forms.quatern[0], c = forms.quatern[1], d = forms.quatern[2];
  double a = static_cast<double>(1.0L - (b * b + c * c + d * d));
  if (a < 1.e-7L) {
    a = static_cast<double>(1.0L / std::sqrt(b * b + c * c + d * d));
    b *= a, c *= a, d *= a;
    a = 0;
  } else {
    a = std::sqrt(a);
  }
  std::array<double, 3> step;
  for (int axis = 0; axis < 3; ++axis)
    step[axis] = forms.pixdim[axis + 1] > 0 ? forms.pixdim[axis + 1] : 1.0;
  if (forms.pixdim[0] < 0)
    step[2] = -step[2];
  const auto diagonal = [](double value, double mm) { return static_cast<float>(value * mm); };
  const auto beside = [](double value, double mm) { return static_cast<float>(2.0L * value * mm); };
  const auto [x, y, z] = forms.qoffset;
  return {{{diagonal(a * a + b * b - c * c - d * d, step[0]), beside(b * c - a * d, step[1]),
            beside(b * d + a * c, step[2]), x},
           {beside(b * c + a * d, step[0]), diagonal(a * a + c * c - b * b - d * d, step[1]),
            beside(c * d - a * b, step[2]), y},
           {beside(b * d - a * c, step[0]), beside(c * d + a * b, step[1]),
            diagonal(a * a + d * d - c * c - b * b, step[2]), z}}};
}

bool orientFromNifti(const NiftiForms& forms, int rows, ImageHeader& header)
{
  header.originMm.assign(header.dimension, 0.0);
  header.direction.assign(header.dimension, std::vector<double>(header.dimension));
  for (int axis = 0; axis < header.dimension; ++axis)
    header.direction[axis][axis] = 1;
  if (forms.qformCode <= 0 && forms.sformCode <= 0)
    return true;
  const std::optional<NiftiMatrix> form = formInUse(forms);
  if (!form)
    return false;
  const auto towardsLps = [](int row, double value) { return row < 2 ? -value : value; };
  for (int axis = 0; axis < std::min(header.dimension, 3); ++axis) {
    header.originMm[axis] = towardsLps(axis, (*form)[axis][3]);
    double squares = 0;
    for (int row = 0; row < rows; ++row)
      squares += static_cast<double>((*form)[row][axis]) * static_cast<double>((*form)[row][axis]);
    for (int row = 0; row < std::min(header.dimension, 3); ++row) {
      const double value = towardsLps(row, (*form)[row][axis]);
      header.direction[row][axis] = squares == 0 ? value : value / std::sqrt(squares);
    }
  }
  return true;
}

NiftiForms niftiFormsOf(const ImageHeader& header)
{
  NiftiForms forms;
  forms.qformCode = forms.sformCode = 1;
  Mat33 rows{}; // a row holds an axis
  rows[2][2] = 1;
  for (int axis = 0; axis < header.dimension; ++axis)
    forms.pixdim[axis + 1] = static_cast<float>(header.spacingMm[axis]);
  const int axes = std::min(header.dimension, 3); // of space
  for (int axis = 0; axis < axes; ++axis) {
    const auto origin = static_cast<float>(header.originMm[axis]);
    forms.qoffset[axis] = axis < 2 ? -origin : origin;
    for (int row = 0; row < axes; ++row) {
      const auto value = static_cast<float>(header.direction[row][axis]);
      rows[axis][row] = row < 2 ? -value : value;
    }
  }
  for (int i = 0; i < 3; ++i) { // nifti_make_orthog_mat44
    const double squares = rows[i][0] * rows[i][0] + rows[i][1] * rows[i][1] + rows[i][2] * rows[i][2];
    if (squares > 0)
      for (float& value : rows[i])
        value *= static_cast<float>(static_cast<double>(1.0L / std::sqrt(squares)));
  }
  rows = nearestOrthogonal(rows);
  Mat33 matrix;
  for (int i = 0; i < 3; ++i) {
    forms.srow[i][3] = forms.qoffset[i];
    for (int j = 0; j < 3; ++j) {
      matrix[i][j] = rows[j][i];
      const bool isScaled = i < axes && j < axes;
      forms.srow[i][j] = isScaled ? forms.pixdim[j + 1] * matrix[i][j] : matrix[i][j];
    }
  }
  setQuaternion(matrix, forms);
  return forms;
}

}
