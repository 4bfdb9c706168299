#include "Tools/Bench/Benches.h"

namespace tessera {

ProgramText benchText()
{
  const Option volume = repeated(
      ownOption("volume", "NXxNYxNZ", "voxels; may be repeated (default: four volumes of the literature)"));
  const Option transform = repeated(ownOption(
      "transform", "WORD",
      "resample: letters of T, E, S, A, B (translation, Euler, similarity, affine, B-spline), the last one "
      "applied first; in brackets in a composite of ITK, if alone too; z2, z1.5: finer voxels beside a copy "
      "of them; may be repeated (default: those of the literature, T A B [T] [A] [B] AB TABES)"));
  const Option tile =
      repeated(ownOption("tile", "VOXELS", "grid spacing; may be repeated (default: 3 4 5 6 7)"));
  const Option method = repeated(
      ownOption("method", "NAME",
                "a FieldInterpolator; resample: nearest, linear or cubic; spgemm: auto, tiles, rows, "
                "plus-pair and plus-pair-masked (the matrix is its own mask; one of the two alone), on CUDA "
                "more; may be repeated"));
  const Option matrix = repeated(
      ownOption("matrix", "NAME",
                "spgemm: a benchmark matrix or a file; may be repeated (default: every benchmark matrix)"));
  const Option block = repeated(
      ownOption("block", "THREADS",
                "model: threads of a block, 32 to 1024; may be repeated (default: up to six sizes)"));
  return {
      "tessera-bench",
      "tessera-bench --device cuda --tile 5",
      "Measures dense B-spline fields (bsi, the default), the adjoint of such fields by each summation of "
      "gradients (adjoint), the exact bending energy (bending; its volumes are control points), images "
      "resampled beside ITK's filter (resample), Gaussian pyramids and their filters beside ITK's (pyramid), "
      "landmarks tracked by structure tensors, splines of landmarks fitted and their fields (landmarks), "
      "products R A P of algebraic multigrid (galerkin; its volumes are nodes) or products of sparse "
      "matrices with themselves (spgemm) beside the machine's own limit; or the rates by which --device auto "
      "chooses (calibrate), which it stores, and with --model what the performance model must know about a "
      "GPU; or kernels with several block sizes beside what the model predicts (model). What the GPUs of "
      "this machine were measured as is shown by machine.",
      {{"What",
        {volume, transform, tile, method,
         ownOption("all-methods", "", "every method of the device (default: Separable alone)"), block,
         ownOption("layouts", "", "bsi: interleaved fields, too"),
         ownOption("explain", "", "bsi: every method, with tables of what limits each"), matrix,
         ownOption("precision", "NAME", "spgemm: f16, f32 or f64 (default: f32)"),
         ownOption("table", "",
                   "spgemm: the 21 matrices of the literature's table, and tables of their numbers, times "
                   "and parts"),
         ownOption("folder", "FOLDER", "spgemm --table: files NAME.mtx.gz, instead of matrices made alike"),
         ownOption("no-itk", "", "resample and pyramid: without ITK's filters"),
         ownOption("counts", "",
                   "model: runs each kernel once, for a profiler, and writes what the model counts"),
         ownOption("model", "", "calibrate: microbenchmarks of a GPU, in half a second beside its start")}},
       {"How",
        {ownOption("device", "NAME", "auto, cpu, cuda or cuda:N, spgemm also cuda:N,M (default: auto)"),
         ownOption("repeats", "N", "timed repeats, of which the median counts (default: 11; model: 9)"),
         ownOption("json", "", "for machines"),
         {"o", "FILE.txt",
          "calibrate: where the rates are stored (default: $TESSERA_CALIBRATION, else "
          "$XDG_CONFIG_HOME/tessera/calibration.txt, else ~/.config/tessera/calibration.txt; with --model "
          "gpus/NAME.txt beside that file, NAME being that of the GPU)"}}},
       commonOptions()},
      exitCodesText()};
}

}
