#pragma once

#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/RunRequest.h"
#include "Tools/Python/Arrays.h"

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::python {

/// All components, made at the first call.
const Registry& components();

/// Names and values of parameters, in their order.
using Entries = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// A map of these entries, which messages call `name`. `lines` are theirs in its file, 0 or missing: none.
/// Throws Error(usage) for a name that is there twice.
std::shared_ptr<const ParameterMap> mapOf(const Entries&, const std::string& name,
                                          const std::vector<std::size_t>& lines = {});

class Chain;
/// The chain that a stage of these parameters has found.
template <int D>
Chain chainOfStage(ChainPointer<D>, const std::shared_ptr<const ParameterMap>&);

/// The class, the fixed parameters and the parameters of a transform as ITK has it.
using ItkNumbers = std::tuple<std::string, std::vector<double>, std::vector<double>>;

/// A chain of transforms, and how images are resampled through it.
class Chain {
public:
  template <int D>
  Chain(ChainPointer<D> chain, std::vector<FileSection> sections, bool useDirectionCosines)
      : chain_(std::move(chain)), sections_(std::move(sections)), useDirectionCosines_(useDirectionCosines)
  {
  }

  /// Another chain with the same settings.
  template <int D>
  Chain with(ChainPointer<D> chain) const
  {
    return Chain(std::move(chain), sections_, useDirectionCosines_);
  }

  int dimension() const { return static_cast<int>(chain_.index()) + 2; }
  GivenTransform given(const std::string& name) const;
  /// The settings of resampling, where `changes` take the place of entries. The type and the format of
  /// results are left out.
  std::shared_ptr<const ParameterMap> settings(const Entries& changes) const;

  /// The texts of all its transforms, with this grid.
  std::vector<std::string> texts(const GridNumbers&, int threads) const;
  /// All transforms; the last one is applied first. Throws Error(unwritableOutput) for what ITK does not
  /// have.
  std::vector<ItkNumbers> itk() const;
  /// The matrix of a linear chain, D + 1 rows and columns; else nothing.
  std::optional<std::vector<double>> matrix() const;

  bool usesDirectionCosines() const { return useDirectionCosines_; }
  /// Whether the same transforms with the same parameters stand in the same order, so that points are mapped
  /// alike, to the bit. Settings of resampling do not count. An inverse in a chain equals itself alone.
  bool operator==(const Chain&) const;
  /// Returns equal numbers for equal chains.
  std::size_t hash() const;

private:
  std::variant<ChainPointer<2>, ChainPointer<3>, ChainPointer<4>> chain_;
  std::vector<FileSection> sections_; // empty: those of the components
  bool useDirectionCosines_;
};

}
