#include "Core/Compute/Performance/BlockThreads.h"

namespace tessera {
namespace {

thread_local int wanted = 0; // 0: the usual number

}

BlockThreads::BlockThreads(int threads) : before_(wanted)
{
  wanted = threads;
}

BlockThreads::~BlockThreads()
{
  wanted = before_;
}

int BlockThreads::orUsual(int usual)
{
  return wanted > 0 ? wanted : usual;
}

}
