#include "Tools/Transform/MemoryBudget.h"

#include "Core/Compute/DeviceMemory.h"
#include "Core/Compute/Memory.h"

namespace tessera {
namespace {

constexpr double shareOfFreeMemory = 0.8;

}

MemoryBudget::MemoryBudget(double maxMemory)
    : bytes(maxMemory > 0 ? maxMemory : shareOfFreeMemory * availableMemoryBytes()),
      text((maxMemory > 0 ? "--max-memory gives " : "free are ") + memoryText(bytes))
{
}

}
