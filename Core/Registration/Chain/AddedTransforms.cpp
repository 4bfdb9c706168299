#include "Core/Registration/Chain/AddedTransforms.h"

namespace tessera {

TESSERA_INSTANTIATE_CLASS(AddedTransforms);

}
