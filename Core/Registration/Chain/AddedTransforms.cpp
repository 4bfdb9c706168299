#include "Core/Registration/Chain/AddedTransforms.h"

namespace tessera {

template class AddedTransforms<2>;
template class AddedTransforms<3>;

}
