#pragma once

namespace tessera {

enum class ImageSide { fixed, moving };

}
