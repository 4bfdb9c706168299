# Sourced by the tests of Parameters/. recovers FILE LIMIT_MM MOTION...: registers a phantom to itself after the motion (options of
# test-tool phantom), and the mean error of points inside must be below the limit.
recovers() {
  file=$1 limit=$2
  shift 2
  out=${file%.txt}
  mkdir "$out"
  size="--size 56 --spacing 3 --noise 2 --textured"
  # shellcheck disable=SC2086
  {
    test-tool phantom "$out/fixed.nii.gz" $size
    test-tool phantom "$out/moving.nii.gz" $size "$@"
    test-tool grid-points "$out/fixed.nii.gz" --margin 0.25 > "$out/points.txt"
    test-tool move-points "$out/fixed.nii.gz" "$out/points.txt" "$@" > "$out/truth.txt"
  }
  tessera --check --strict -f "$out/fixed.nii.gz" -m "$out/moving.nii.gz" -p "$SOURCE/Parameters/$file" -q
  tessera -f "$out/fixed.nii.gz" -m "$out/moving.nii.gz" -p "$SOURCE/Parameters/$file" -out "$out" -q
  tessera-transform -tp "$out/TransformParameters.0.txt" -def "$out/points.txt" -out "$out" -q
  test-tool points-agree "$out/outputpoints.txt" "$out/truth.txt" --mean "$limit"
}
