#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A block of a transform parameter file under a comment line ("Resampler specific").
struct FileSection {
  std::string heading;
  std::vector<FileEntry> entries;
};

/// The contents of TransformParameters.N.txt.
template <int D>
struct TransformFileSource {
  const TransformChain<D>* chain = nullptr; // its last transform is written
  /// The fileEntries to write if that transform has been refined since; null: its present ones.
  const std::vector<FileEntry>* model = nullptr;
  std::string initialPath = "NoInitialTransform"; // as a reader can find it
  std::string initialDigest = {};                 // transformDigest() of that file; empty: none is written
  std::string itkPath = {}; // if not empty, the file says (Transform "File") (TransformFileName "<itkPath>")
  ImageGeometry<D> fixed = {}; // the output grid for programs that apply the transform
  std::string fixedPixelType = "float", movingPixelType = "float";
  bool useDirectionCosines = true;
  std::vector<FileSection> sections = {}; // the entries of ResampleInterpolator and Resampler
  int threads = 1;                        // number of threads that turn numbers into text
};

/// The text of a transform parameter file for transformix 5.0.1 and newer; numbers are read back as the same
/// bits. `warnings` receives one line for each value with a character that 5.0.1 refuses. Throws
/// Error(unwritableOutput) for numbers that are not finite and for texts that no such file can hold.
template <int D>
std::string transformFileText(const TransformFileSource<D>& source, std::vector<std::string>& warnings);
/// Gives that text in pieces, so that nobody has to put the text of a million numbers together.
template <int D>
std::vector<std::string> transformFilePieces(const TransformFileSource<D>& source,
                                             std::vector<std::string>& warnings);
/// The same in TOML, for elastix 5.3 and newer.
template <int D>
std::string transformFileToml(const TransformFileSource<D>& source);

/// transformFileText() of every transform of `source.chain`, the one that is applied first at the front, for
/// use without files. Each names the place of the one before it in this list, from 0 on, as its initial
/// transform. `source.model` belongs to the last one; `source` has no paths.
template <int D>
std::vector<std::string> transformChainTexts(TransformFileSource<D> source,
                                             std::vector<std::string>& warnings);

/// The entries of one transform parameter file.
using TransformMap = std::shared_ptr<const ParameterMap>;

/// The contents of a transform parameter file that was read.
template <int D>
struct TransformFileContent {
  ChainPointer<D> chain = {};
  ImageGeometry<D> output;                    // the grid of the results
  std::optional<ImageGeometry<D>> fixed = {}; // the file's own grid, with Index moved into the origin
  bool useDirectionCosines = true;
  TransformMap map; // from which resampler and interpolator read their settings
};

/// Reads a transform parameter file with its chain of initial transforms, whose files
/// pathBesideTransformFile() finds, on a context of the CPU. `warn` may be empty. Throws
/// Error(unreadableInput) for a missing file, wrong grammar, an unknown transform, counts that differ, a
/// missing Size, and a cycle.
///
/// With `grid` the output has this grid, and the file needs none: it may also be an ITK transform file. The
/// results of that are .nii.gz files of floats (.mha where the axes of its grid are not perpendicular),
/// because it has no settings of resampling.
template <int D>
TransformFileContent<D> readTransformFile(const Context&, const std::string& path, const Registry&,
                                          const Parameters::Warn& warn,
                                          const ImageGeometry<D>* grid = nullptr);

/// The same from maps in memory, the one that is applied first at the front; output and settings are those of
/// the last one. Only the first one's initial transform is read: the order takes the place of others. Files
/// that maps name are looked for from the working folder and beside fileName(). Throws as readTransformFile.
template <int D>
TransformFileContent<D> transformFromMaps(const Context& host, std::span<const TransformMap>, const Registry&,
                                          const Parameters::Warn& warn,
                                          const ImageGeometry<D>* grid = nullptr);

/// Its chain alone, which needs no grid.
template <int D>
ChainPointer<D> chainFromMaps(const Context& host, std::span<const TransformMap>, const Registry&,
                              const Parameters::Warn& warn);

/// The settings that readTransformFile returns for a file that has none; the chain is left out. Throws
/// Error(unreadableInput) without a grid.
template <int D>
TransformFileContent<D> contentWithoutSettings(const std::string& path, const ImageGeometry<D>* grid);

/// Whether an entry of a transform parameter file says where its initial transform is or what is made of the
/// transform, and nothing of the transform itself.
bool isOutputEntry(std::string_view name);

/// One line for each entry that no reader of transform parameter files knows, with the nearest name that one
/// knows.
std::vector<std::string> unknownTransformFileEntries(const ParameterMap&);

/// The chain alone, from a transform parameter file or an ITK transform file (.tfm, .h5, .hdf5).
template <int D>
ChainPointer<D> readTransformChain(const Context&, const std::string& path, const Registry&,
                                   const Parameters::Warn& warn);

/// FixedImageDimension of a transform parameter file; `ofGrid`, the dimension of the output grid, if the file
/// has none. Throws Error(unreadableInput) if both are missing.
std::size_t readTransformDimension(const std::string& path, std::optional<std::size_t> ofGrid = {});

}
