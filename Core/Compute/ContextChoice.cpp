#include "Core/Compute/ContextChoice.h"

#include "Core/Compute/Error.h"

namespace tessera {

ContextChoice chooseContext(const std::string& text, const std::string& where, int threads,
                            const std::string& withoutCuda,
                            const std::function<std::string(const Context&)>& whyNot)
{
  const DeviceChoice choice = chooseDevice(text, where, withoutCuda);
  const Context context = makeContext(choice.device, threads);
  const std::string why = context.onCuda() ? whyNot(context) : "";
  if (why.empty())
    return {context, choice.reason};
  if (text != "auto")
    failAs(ExitCode::device, where + " " + text, why, "cpu, auto");
  return {makeContext(Device{}, threads), "cpu: " + why};
}

}
