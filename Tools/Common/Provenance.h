#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tessera {

/// Fields of run.json that do not depend on the program: versions, host, job of a scheduler, peak memory.
nlohmann::ordered_json provenance();

}
