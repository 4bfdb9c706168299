. "$SOURCE/Testing/EndToEnd/lib.sh"
# What tests of parameter files share. recovers FILE LIMIT_MM MOTION...: registers a phantom to itself after the motion (options of
# test-tool phantom), and the mean error of points inside must stay below the limit. In 2D if $plane is --2d.
# The phantom has $size voxels (56) along each axis. The file follows the file $before, if that is not empty. With $landmarks the
# registration gets landmarks that are tracked in both images.
recovers() {
  file=$1 limit=$2
  shift 2
  out=${file%.txt}${plane:-}
  mkdir "$out"
  phantom="--size ${size:-56} --spacing 3 --textured ${plane:-}"
  # shellcheck disable=SC2086
  {
    test -e "fixed${plane:-}.nii.gz" || test-tool phantom "fixed${plane:-}.nii.gz" $phantom --noise 2
    test-tool phantom "$out/moving.nii.gz" $phantom --noise "${moving_noise:-2}" "$@"
    test-tool grid-points "fixed${plane:-}.nii.gz" --margin 0.25 ${plane:-} > "$out/points.txt"
    test-tool move-points "fixed${plane:-}.nii.gz" "$out/points.txt" "$@" ${plane:-} > "$out/truth.txt"
  }
  stages='' last=0
  test -z "${before:-}" || stages="-p $SOURCE/Parameters/$before" last=1
  images="-f fixed${plane:-}.nii.gz -m $out/moving.nii.gz"
  if [ -n "${landmarks:-}" ]; then
    # shellcheck disable=SC2086
    tessera-landmarks track $images -out "$out/landmarks" -q
    images="$images -fp $out/landmarks/fixed.txt -mp $out/landmarks/moving.txt --point-weights $out/landmarks/weights.txt"
  fi
  # shellcheck disable=SC2086
  {
    tessera --check --strict $images $stages -p "$SOURCE/Parameters/$file" -q
    tessera $images $stages -p "$SOURCE/Parameters/$file" -out "$out" -q
    tessera-transform -tp "$out/TransformParameters.$last.txt" -def "$out/points.txt" -out "$out" -q
    test-tool points-agree "$out/outputpoints.txt" "$out/truth.txt" --mean "$limit" ${plane:-}
  }
}
