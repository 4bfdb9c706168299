#include "Tools/Bench/Model/KernelCost.h"

#include <cmath>

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

KernelCost sharedTasks(double tasks, int threads, const KernelCost& head, const KernelCost& task)
{
  const double turnsAWarp = std::ceil(tasks / 32) / std::ceil(threads / 32.0);
  KernelCost work = task;
  for (ChainLink& link : work.chain)
    link.operations *= std::ceil(tasks / threads) / turnsAWarp;
  return KernelCost(head).add(turnsAWarp, work);
}

KernelCost KernelLaunch::cost() const
{
  KernelCost all;
  for (const KernelCost& phase : phases)
    all.add(1, phase);
  return all;
}

}
