#include "Core/Registration/Terms/TermOnImages.h"

namespace tessera {

TESSERA_INSTANTIATE_CLASS(TermOnImages);

}
