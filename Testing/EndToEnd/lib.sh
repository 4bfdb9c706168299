# What .test files share: . "$SOURCE/Testing/EndToEnd/lib.sh"
set +x # the functions would fill the log; they print what fails

# parameters FILE '(Name value)'...: a small 2D or 3D registration, with these lines instead of its own.
parameters() {
  _file=$1
  shift
  cat >"$_file" <<'END'
(Registration "MultiResolutionRegistration")
(NumberOfResolutions 2)
(ImageSampler "RandomCoordinate")
(NumberOfSpatialSamples 300)
(NewSamplesEveryIteration "true")
(Transform "TranslationTransform")
(Metric "AdvancedMeanSquares")
(Optimizer "RegularStepGradientDescent")
(MaximumStepLength 1.0)
(MaximumNumberOfIterations 4)
(ResultImageFormat "mha")
END
  for _line in "$@"; do
    _name=${_line%% *}
    grep -v "^$_name " "$_file" >"$_file.new" || true
    mv "$_file.new" "$_file"
    printf '%s\n' "$_line" >>"$_file"
  done
}

# without FILE NAME: removes a parameter.
without() {
  grep -v "^($2 " "$1" >"$1.new" || true
  mv "$1.new" "$1"
}

# translation FILE 'MM' ['(Name value)']...: a transform file in as many dimensions as there are numbers, with these lines.
translation() {
  _file=$1
  _mm=$2
  _axes=$(echo "$_mm" | wc -w)
  shift 2
  printf '%s\n' '(Transform "TranslationTransform")' "(NumberOfParameters $_axes)" "(TransformParameters $_mm)" \
    "(FixedImageDimension $_axes)" "(MovingImageDimension $_axes)" "$@" >"$_file"
}

# flat_pair: f.mha and m.mha, 40 x 40 pixels of 1 mm, shifted by 1.5 mm.
flat_pair() {
  test-tool phantom --2d --size 40 -- f.mha
  test-tool phantom --2d --size 40 --shift-mm 1.5 -- m.mha
}

# meta_image FILE 'DimSize' 'ElementSpacing' 'Offset' 'TransformMatrix' TYPE <voxels
meta_image() {
  {
    printf 'ObjectType = Image\nNDims = %s\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n' \
      "$(printf '%s\n' "$2" | wc -w)"
    printf 'TransformMatrix = %s\nOffset = %s\nElementSpacing = %s\nDimSize = %s\nElementType = %s\nElementDataFile = LOCAL\n' \
      "$5" "$4" "$3" "$2" "$6"
    cat
  } >"$1"
}

# has_gpu: whether a registration can run on CUDA here.
has_gpu() {
  test-tool phantom --2d --size 20 -- gpu-probe.mha
  parameters gpu-probe.txt
  tessera -f gpu-probe.mha -m gpu-probe.mha -p gpu-probe.txt --check --device cuda >gpu-probe.log 2>&1
}

# needs_gpu: skips the rest of the test without one, and fails it if TESSERA_REQUIRE_GPU is 1.
needs_gpu() {
  has_gpu && return
  cat gpu-probe.log
  [ "${TESSERA_REQUIRE_GPU:-0}" != 1 ] || exit 1
  echo "skipped: no CUDA device"
  exit 77
}

# bytes COUNT OCTAL: that byte so often.
bytes() {
  head -c "$1" /dev/zero | tr '\0' "\\$2"
}

# copies COUNT 'BYTES': these bytes so often, in the words of printf.
copies() {
  # shellcheck disable=SC2046,SC2059
  printf "$2%.0s" $(seq "$1")
}

# plain_mask FILE OCTAL ['Offset']: 40 x 40 voxels of one value, by default where the phantoms of that size lie.
plain_mask() {
  bytes 1600 "$2" | meta_image "$1" '40 40' '1 1' "${3:--19.5 -19.5}" '1 0 0 1' MET_UCHAR
}

fails() {
  echo "FAILS: $*"
  echo "--- stdout"
  tail -n 20 stdout.txt
  echo "--- stderr"
  tail -n 20 stderr.txt
  exit 1
}

# Nothing that a user could take for a result.
leaves_no_result() {
  for _found in "$1"/result* "$1"/TransformParameters.?.txt "$1"/outputpoints* "$1"/deformationField* \
    "$1"/spatialJacobian* "$1"/fullSpatialJacobian* "$1"/.tessera-partial*; do
    [ ! -e "$_found" ] || fails "$_found was left"
  done
  ! grep -s '"status": "done"' "$1/summary.json" || fails "its summary says that it is done"
}

# refuses CODE 'where: what was given: what is wrong' COMMAND...: ends with CODE, the last line of stderr is the error, it begins
# so and says what is allowed, and the folder out holds no result.
refuses() {
  _code=$1
  _text=$2
  shift 2
  rm -rf out
  _ended=0
  "$@" >stdout.txt 2>stderr.txt </dev/null || _ended=$?
  [ "$_ended" = "$_code" ] || fails "exit code $_ended, not $_code: $*"
  _last=$(tail -n 1 stderr.txt)
  case $_last in
    "ERROR: $_text"*) ;;
    *) fails "does not begin with 'ERROR: $_text': $*" ;;
  esac
  case $_last in
    *Allowed* | *Remedy:* | *"Usual remedies"* | *--help* | *--list-components* | *"Did you mean"* | *"Remove it"* | *"run from 0"*) ;;
    *) fails "does not say what is allowed: $*" ;;
  esac
  leaves_no_result out
}

# accepts COMMAND...: ends with 0; stdout.txt and stderr.txt hold what it said.
accepts() {
  rm -rf out
  "$@" >stdout.txt 2>stderr.txt </dev/null || fails "exit code $?: $*"
}

# says 'text' FILE: a line of the file holds the text.
says() {
  grep -qF -- "$1" "$2" || {
    cat "$2"
    echo "FAILS: $2 does not say: $1"
    exit 1
  }
}

# says_not 'text' FILE
says_not() {
  ! grep -F -- "$1" "$2" || {
    echo "FAILS: $2 says: $1"
    exit 1
  }
}

# as_points FILE: the mapped points of an outputpoints.txt as a file of points.
as_points() {
  echo point
  wc -l <"$1"
  sed 's/.*OutputPoint = \[ //; s/ \].*//' "$1"
}

# exist FILE...: each is there and not empty.
exist() {
  for _file in "$@"; do
    [ -s "$_file" ] || fails "$_file is missing or empty"
  done
}

# ends_with CODE: waits for the process $run of this shell, which must end with this code.
ends_with() {
  _ended=0
  wait "$run" || _ended=$?
  [ "$_ended" = "$1" ] || fails "exit code $_ended, not $1"
}

# waits_for COMMAND...: until it succeeds, for at most a minute.
waits_for() {
  _tries=0
  until "$@" >/dev/null 2>&1; do
    _tries=$((_tries + 1))
    [ $_tries -lt 1200 ] || fails "a minute was not enough for: $*"
    sleep 0.05
  done
}
