#include "Core/Compute/Error.h"
#include "Tools/Python/Arrays.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Chain.h"
#include "Tools/Python/Work.h"

#include <nanobind/nanobind.h>

#include <new>
#include <system_error>

namespace {

using namespace tessera;
namespace nb = nanobind;

/// Makes an exception of the classes of tessera._errors.
void raise(const Failure& failure)
{
  try {
    const nb::object error = nb::module_::import_("tessera._errors")
                                 .attr("error_of")(failure.code, python::textOf(failure.message));
    PyErr_SetObject(error.type().ptr(), error.ptr());
  } catch (nb::python_error& other) { // an import at the end of the interpreter, or Ctrl-C
    other.restore();
  }
}

void translate(const std::exception_ptr& exception, void*)
{
  try {
    std::rethrow_exception(exception);
  } catch (const python::Failed& failed) {
    raise(failed.failure);
  } catch (const Error&) {
    raise(failureOf(exception));
  } catch (const std::bad_alloc&) {
    raise(failureOf(exception));
  } catch (const std::system_error&) {
    raise(failureOf(exception));
  }
}

}

NB_MODULE(_core, module)
{
  nb::set_leak_warnings(false); // at an exit with a run in a daemon thread objects stay
  nb::register_exception_translator(translate);
  module.attr("version") = TESSERA_VERSION;
  python::bindWork(module);
  python::bindArrays(module);
  python::bindChain(module);
  python::bindAsked(module);
  python::bindRegistering(module);
  python::bindFollowing(module);
  python::bindTransforming(module);
  python::bindDescribing(module);
  python::bindFiles(module);
  python::bindComparing(module);
  python::bindSparse(module);
}
