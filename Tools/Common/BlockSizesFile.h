#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Parameters/ParameterMap.h"

#include <string>

namespace tessera {

class Log;

/// The name under which a kind of GPU is stored, "NVIDIA H200, 132 multiprocessors".
std::string gpuStorageName(const std::string& gpu, double multiprocessors);

/// The file of a GPU of this name: in the folder `gpus` beside the calibration (calibrationPath), which
/// `tessera-bench calibrate --model` writes; empty without a home.
std::string gpuFilePath(const std::string& storageName);

/// The prefix of an entry with block sizes, such as (BlockThreads_adjoint 110592 64 884736 32): for so many
/// items so many threads.
constexpr const char* blockThreadsPrefix = "BlockThreads_";

/// Reads these entries. Throws Error(usage) with file and line for numbers that are no pairs, and for threads
/// that are no multiple of 32 up to 1024.
BlockSizes blockSizesOf(const ParameterMap&);
std::string blockSizesText(const BlockSizes&);

/// Gives kernels of the context's device, if it is a GPU, the block sizes of its file. Without a file they
/// take those that are best on an H100 and an H200. Warns of a file that cannot be read.
void useStoredBlockSizes(const Context&, Log&);

}
