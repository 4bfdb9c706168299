#pragma once

namespace tessera {

/// From now on the first SIGINT or SIGTERM is only remembered; the second ends the program as it would have without this.
void watchSignals();

/// SIGINT or SIGTERM if one came, else 0.
int caughtSignal();

}
