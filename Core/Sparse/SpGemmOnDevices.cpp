#include "Core/Sparse/SpGemmOnDevices.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/PreparedProductOnCuda.h"
#include "Core/Sparse/Rows/RowSharesOnCuda.h"

#include <exception>
#include <string>
#include <thread>

namespace tessera {
namespace {

void checkOnCuda(const std::vector<Context>& contexts)
{
  for (const Context& context : contexts)
    if (!context.onCuda())
      throw Error(ExitCode::device, "A B on several devices: the CPU is one of them. Allowed: CUDA devices.");
}

}

void onThreadsOfTheirOwn(std::size_t count, const std::function<void(std::size_t)>& work)
{
  std::vector<std::exception_ptr> errors(count);
  const auto run = [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < count; ++i)
      threads.emplace_back(run, i);
    if (count > 0)
      run(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error)
      std::rethrow_exception(error);
}

SpGemmOnDevices::SpGemmOnDevices(const std::vector<Context>& contexts) : contexts_(contexts)
{
  checkOnCuda(contexts);
  for (const Context& context : contexts)
    products_.push_back(std::make_unique<SpGemmOnCuda>(context));
}

template <class V>
std::vector<PartOnCuda<V>> SpGemmOnDevices::multiply(const std::vector<const CsrOnCuda<V>*>& a,
                                                     const std::vector<const CsrOnCuda<V>*>& b,
                                                     const SpGemmOnCudaOptions& options)
{
  const std::size_t count = contexts_.size();
  std::vector<PartOnCuda<V>> parts(count);
  // Each device analyses all rows itself, which takes less time than waiting for another device would.
  onThreadsOfTheirOwn(count, [&](std::size_t i) {
    const SpGemmOnCudaOptions chosen = products_[i]->choiceFor(*a[i], *b[i], options);
    const bool counted = chosen.choice && chosen.choice->productsBefore.size() > 0;
    const std::vector<std::size_t> starts =
        counted ? balancedRowStarts(contexts_[i], chosen.choice->productsBefore, count)
                : balancedRowStarts(contexts_[i], a[i]->view(), b[i]->view(), count);
    parts[i].firstRow = starts[i];
    parts[i].c = products_[i]->multiplyRows(*a[i], *b[i], starts[i], starts[i + 1], chosen, &parts[i].report);
    contexts_[i].stream->wait();
  });
  return parts;
}

template <class V>
CsrMatrix<V> multiplyOnDevices(const std::vector<Context>& contexts, const CsrMatrix<V>& a,
                               const CsrMatrix<V>& b, const SpGemmOptions<V>& options, SpGemmReport* report)
{
  checkOnCuda(contexts);
  const std::size_t count = contexts.size();
  const PreparedOperands<V> operands(contexts.front(), a, b, options);
  std::vector<std::unique_ptr<PreparedProductOnCuda<V>>> products(count);
  std::vector<RowsOfProduct<V>> made(count);
  std::vector<std::size_t> starts(count + 1);
  onThreadsOfTheirOwn(count, [&](std::size_t i) {
    products[i] = std::make_unique<PreparedProductOnCuda<V>>(contexts[i], operands, options);
    products[i]->choose();
    const std::vector<std::size_t> all = products[i]->balancedStarts(count); // the same on each device
    starts[i + 1] = all[i + 1];
    made[i] = products[i]->multiplyWithinMemory(all[i], all[i + 1]);
  });
  std::vector<std::uint64_t> entriesBefore(count + 1);
  for (std::size_t i = 0; i < count; ++i)
    entriesBefore[i + 1] = entriesBefore[i] + made[i].entries();
  CsrMatrix<V> c = memoryOnHost<V>(products[0]->rows(), products[0]->columns(), entriesBefore[count]);
  onThreadsOfTheirOwn(count,
                      [&](std::size_t i) { products[i]->place(made[i], c, starts[i], entriesBefore[i]); });
  if (report) {
    *report = {};
    report->ranges = 0;
    for (const auto& product : products) {
      report->add(product->report());
      report->ranges += product->report().ranges;
    }
    report->choice = std::to_string(count) + " devices; on the last one: " + report->choice;
  }
  return c;
}

TESSERA_INSTANTIATE_FOR_NUMBERS(&SpGemmOnDevices::multiply<V>, multiplyOnDevices<V>);

}
