# Hands of the comparisons with elastix and transformix 5.0.1, for the .test files beside it: phantoms, parameter texts, both programs.

# phantoms DIMENSION KIND: fixed.mha, moving.mha and masks fixed-mask.mha, moving-mask.mha. KIND is aligned or oblique.
# No two of these grids share a voxel position, so that no sample falls between two cells of the interpolator.
phantoms() {
  dimension=$1
  export TESSERA_IMAGES="$1D $2" # for the record of differences
  oblique=
  flat=
  [ "$2" != oblique ] || oblique=--oblique
  if [ "$1" = 2 ]; then
    flat=--2d
    test-tool phantom fixed.mha --size 61 50 --spacing 1.1 0.9 --noise 6 --seed 3 $flat $oblique
    test-tool phantom moving.mha --size 57 66 --spacing 1.03 0.83 --noise 6 --seed 4 $flat $oblique
  else
    test-tool phantom fixed.mha --size 31 27 22 --spacing 1.25 1.75 2.25 --noise 6 --seed 3 $oblique
    test-tool phantom moving.mha --size 33 29 24 --spacing 1.17 1.63 2.09 --noise 6 --seed 4 $oblique
  fi
  test-tool mask fixed.mha fixed-mask.mha --share 0.85 $flat
  test-tool mask moving.mha moving-mask.mha --share 0.9 $flat
}

# stage TRANSFORM [METRICS]: a parameter text on stdout that looks at every voxel and hardly moves; append lines as needed.
stage() {
  metrics=${2:-'"AdvancedMeanSquares"'}
  registration=MultiResolutionRegistration
  [ "${metrics#* }" = "$metrics" ] || registration=MultiMetricMultiResolutionRegistration
  cat <<END
(FixedInternalImagePixelType "float")
(MovingInternalImagePixelType "float")
(UseDirectionCosines "true")
(Registration "$registration")
(Transform "$1")
(Metric $metrics)
(Interpolator "BSplineInterpolator")
(ResampleInterpolator "FinalBSplineInterpolator")
(Resampler "DefaultResampler")
(ResultImageFormat "mha")
(ResultImagePixelType "float")
(HowToCombineTransforms "Compose")
(ErodeMask "false")
END
}

# both ARGUMENTS: elastix into e/, tessera into t/. Both must succeed.
both() {
  rm -rf e t
  mkdir e t
  elastix -out e "$@" >e.log 2>&1 || { tail -20 e.log; return 1; }
  tessera -v -out t "$@" >t.log 2>&1 || { tail -20 t.log; return 1; }
}

# both_transform ARGUMENTS: transformix into e/, tessera-transform into t/.
# transformix 5.0.1 may crash after it has written 2D .vtk points: what it wrote is compared all the same.
both_transform() {
  rm -rf e t
  mkdir e t
  transformix -out e "$@" >e.log 2>&1 || { tail -20 e.log; [ -e e/outputpoints.vtk ] || return 1; }
  tessera-transform -out t --device cpu "$@" >t.log 2>&1 || { tail -20 t.log; return 1; }
}

# key NAME FILE: the values of a parameter.
key() {
  sed -n "s/^($1 \\(.*\\))\$/\\1/p" "$2"
}

# key_agrees NAME STAGE OPTIONS: a number list of TransformParameters.STAGE.txt in e/ and t/. OPTIONS are those of numbers-agree; with
# --quantity the largest difference gets into a row of dox/Conformance.md (Tools/Developer/write-conformance).
key_agrees() {
  key "$1" "e/TransformParameters.$2.txt" >e.numbers
  key "$1" "t/TransformParameters.$2.txt" >t.numbers
  name=$1
  shift 2
  test-tool numbers-agree t.numbers e.numbers --as "$name" "$@"
}

# rows_agree LEVEL COLUMNS OPTIONS: columns of all rows of IterationInfo.0.R<LEVEL>.txt in e/ and t/; COLUMNS as of cut -f.
rows_agree() {
  for program in e t; do
    tail -n +2 "$program/IterationInfo.0.R$1.txt" | cut -f "$2" >$program.numbers
  done
  name="IterationInfo R$1 columns $2"
  shift 2
  test-tool numbers-agree t.numbers e.numbers --as "$name" "$@"
}

# image_block FILE: the "Image specific" lines of a transform file for the grid of an image, with all digits.
image_block() {
  stage TranslationTransform >block-stage.txt
  cat >>block-stage.txt <<'END'
(ImageSampler "Full")
(Optimizer "StandardGradientDescent")
(MaximumNumberOfIterations 1)
(NumberOfResolutions 1)
(WriteResultImage "false")
END
  mkdir -p block
  tessera -f "$1" -m "$1" -p block-stage.txt -out block >block.log 2>&1 || { tail block.log; return 1; }
  sed -n '/^.FixedImageDimension/,/^.UseDirectionCosines/p' block/TransformParameters.0.txt
}

# transform_file OUT CLASS "PARAMETERS" INITIAL COMBINATION: header, the lines of image.block, and what resamples; append the rest.
transform_file() {
  cat >"$1" <<END
(Transform "$2")
(NumberOfParameters $(echo $3 | wc -w))
(TransformParameters $3)
(InitialTransformParametersFileName "$4")
(HowToCombineTransforms "$5")
$(cat image.block)
(ResampleInterpolator "FinalBSplineInterpolator")
(FinalBSplineInterpolationOrder ${6:-3})
(Resampler "DefaultResampler")
(DefaultPixelValue -7)
(ResultImageFormat "mha")
(ResultImagePixelType "float")
(CompressResultImage "false")
END
}

# scattered COUNT LARGEST SEED: numbers between -LARGEST and LARGEST, the same everywhere.
scattered() {
  awk -v n="$1" -v largest="$2" -v x="$3" 'BEGIN { for (i = 0; i < n; ++i) { x = (x * 16807) % 2147483647; printf "%.6f ", largest * (2 * x / 2147483647 - 1) } }'
}

# grid_lines ORDER SPACING_VOXELS: the "BSplineTransform specific" lines of a grid over fixed.mha, as elastix would lay it.
grid_lines() {
  stage BSplineTransform >grid-stage.txt
  cat >>grid-stage.txt <<END
(ImageSampler "Full")
(Optimizer "StandardGradientDescent")
(MaximumNumberOfIterations 1)
(NumberOfResolutions 1)
(WriteResultImage "false")
(BSplineTransformSplineOrder $1)
(FinalGridSpacingInVoxels $2)
END
  mkdir -p grid
  tessera -f fixed.mha -m fixed.mha -p grid-stage.txt -out grid >grid.log 2>&1 || { tail grid.log; return 1; }
  sed -n '/^.GridSize/,/^.UseCyclicTransform/p' grid/TransformParameters.0.txt
}

# bspline_file OUT ORDER SPACING_VOXELS LARGEST SEED INITIAL COMBINATION: a transform file with scattered coefficients.
bspline_file() {
  grid_lines "$2" "$3" >grid.block
  points=1
  for n in $(key GridSize grid.block); do points=$((points * n)); done
  transform_file "$1" BSplineTransform "$(scattered $((points * dimension)) "$4" "$5")" "$6" "$7"
  cat grid.block >>"$1"
}
