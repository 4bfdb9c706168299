# What tests of series share. The variables: dimension, offset and steps (in mm) of series.mhd; schedule, samples and iterations of a
# registration, and the format of its result.
. "$SOURCE/Testing/EndToEnd/lib.sh"

# header FILE "SIZE" "MATRIX": a header over the voxels.
header() {
  cat >"$1" <<END
ObjectType = Image
NDims = $dimension
BinaryData = True
BinaryDataByteOrderMSB = False
TransformMatrix = $3
Offset = $offset
ElementSpacing = $steps
DimSize = $2
ElementType = MET_FLOAT
ElementDataFile = voxels.raw
END
}

# base '(Name value)'...: a parameter file with these lines.
base() {
  cat <<END
(FixedImageDimension $dimension)
(MovingImageDimension $dimension)
(Registration "MultiResolutionRegistration")
(FixedImagePyramid "FixedSmoothingImagePyramid")
(MovingImagePyramid "MovingSmoothingImagePyramid")
(NumberOfResolutions 2)
(ImagePyramidSchedule $schedule)
(ImageSampler "RandomCoordinate")
(NumberOfSpatialSamples $samples)
(NewSamplesEveryIteration "true")
(Interpolator "ReducedDimensionBSplineInterpolator")
(ResampleInterpolator "FinalReducedDimensionBSplineInterpolator")
(Optimizer "AdaptiveStochasticGradientDescent")
(MaximumNumberOfIterations $iterations)
(ResultImageFormat "$format")
END
  printf '%s\n' "$@"
}

# refused STATUS TEXT ARGUMENTS: by --check, with this text.
refused() {
  wanted=$1
  text=$2
  shift 2
  status=0
  tessera --check -p parameters.txt "$@" -q 2>error.txt || status=$?
  cat error.txt
  test $status -eq "$wanted"
  grep -q -e "$text" error.txt
}
