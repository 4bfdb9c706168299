#pragma once

#include "Tools/Bench/Model/KernelCost.h"

#include <string>
#include <vector>

namespace tessera {

/// A kernel with one block size: its measured time, and those that the models predict.
struct ModelRow {
  std::string kernel, size;
  LaunchShape shape;
  double measuredMs = 0;
  std::vector<double> predictedMs; // by predict, predictByWu, predictByHongAndKim
  std::string boundBy;
  bool isUsual = false;   // whether the program takes this block size
  double transfersMs = 0; // predicted, if all arrays came from the host and went back
};

/// Spearman's correlation of ranks; equal numbers share their mean rank. 0 if all numbers of a side are
/// equal.
double rankCorrelation(const std::vector<double>& a, const std::vector<double>& b);

/// A table with a row for each kernel, size and block size. The chosen block size of each kernel and size,
/// the one with the least predicted time, is marked, with its regret: how much longer it takes than the best.
std::string modelTable(const std::vector<ModelRow>&);

/// For each model: mean and largest absolute error in per cent; mean rank correlation over the block sizes of
/// kernels and sizes whose times differ by more than 5 %; share of pairs of block sizes with such a
/// difference whose order is predicted; share of chosen block sizes within 3 % of the best, and their mean
/// regret. The same regret for the block sizes that the program takes.
std::string modelSummary(const std::vector<ModelRow>&);

}
