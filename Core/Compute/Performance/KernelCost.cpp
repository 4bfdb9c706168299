#include "Core/Compute/Performance/KernelCost.h"

namespace tessera {

KernelCost& KernelCost::add(double times, const KernelCost& part)
{
  for (double KernelCost::*const count :
       {&KernelCost::issueSlots, &KernelCost::fp32, &KernelCost::fp64, &KernelCost::special,
        &KernelCost::integer, &KernelCost::globalInstructions, &KernelCost::sharedInstructions,
        &KernelCost::l1Wavefronts, &KernelCost::sharedWavefronts, &KernelCost::sharedAtomics,
        &KernelCost::atomicSectors, &KernelCost::meetingSectors, &KernelCost::l2Sectors,
        &KernelCost::dramReadBytes, &KernelCost::dramWrittenBytes, &KernelCost::barriers})
    this->*count += times * (part.*count);
  for (ChainLink link : part.chain) {
    link.operations *= times;
    chain.push_back(link);
  }
  return *this;
}

KernelCost KernelLaunch::cost() const
{
  KernelCost all;
  for (const KernelCost& phase : phases)
    all.add(1, phase);
  return all;
}

}
