# What tests of large images share, after lib.sh.
upright='1 0 0 0 1 0 0 0 1'
origin='-29.5 -29.5 -29.5'

# transform FILE 'TRANSFORM' 'PARAMETERS' 'DIRECTION' ['(Name value)'...]: to 50 x 60 x 40 voxels over most of the image
transform() {
  _file=$1
  {
    printf '(Transform "%s")\n(NumberOfParameters %s)\n(TransformParameters %s)\n' "$2" "$(echo "$3" | wc -w)" "$3"
    printf '(InitialTransformParametersFileName "%s")\n(HowToCombineTransforms "Compose")\n' "${start:-NoInitialTransform}"
    printf '(CenterOfRotationPoint 0 0 0)\n(FixedImageDimension 3)\n(MovingImageDimension 3)\n'
    printf '(Size 50 60 40)\n(Index 0 0 0)\n(Spacing 1.2 1 1.5)\n(Origin %s)\n(Direction %s)\n' "$origin" "$4"
    printf '(DefaultPixelValue -7)\n(Resampler "DefaultResampler")\n(ResultImageFormat "mha")\n(ResultImagePixelType "short")\n'
  } >"$_file"
  shift 4
  grep -q 'ResampleInterpolator' "$_file" || printf '(ResampleInterpolator "FinalLinearInterpolator")\n' >>"$_file"
  for _line in "$@"; do
    _name=${_line%% *}
    grep -v "^$_name " "$_file" >"$_file.new"
    printf '%s\n' "$_line" >>"$_file.new"
    mv "$_file.new" "$_file"
  done
}
apply() { tessera-transform -out out --device cpu "$@"; }

# least [options]: refused within 1 kB; the limit that is named then is enough, and less by one in its last digit is not
least() {
  refuses 6 '-in: ' apply "$@" --max-memory 1kB
  enough=$(sed -n 's/.*Allowed: at least \([0-9.]* [kM]B\).*/\1/p' stderr.txt)
  accepts apply "$@" --max-memory "$(echo "$enough" | tr -d ' ')"
  less=$(echo "$enough" | awk '{ printf "%g%s", $1 - ($1 ~ /[.]/ ? 0.1 : 1), $2 }')
  refuses 6 '-in: ' apply "$@" --max-memory "$less"
  says "Allowed: at least $enough" stderr.txt
}
