#include "Core/Registration/Terms/TermOnImages.h"

namespace tessera {

template class TermOnImages<2>;
template class TermOnImages<3>;

}
