#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <exception>
#include <string>

namespace itk {
class ImageIOBase;
}

namespace tessera {

/// The header that an ITK reader holds after ReadImageInformation. Throws Error(unreadableInput) on unknown
/// component types.
ImageHeader headerFromItk(const itk::ImageIOBase& io, const std::string& path);

/// Makes an ITK reader read the whole image.
void askForAllVoxels(itk::ImageIOBase& io);

/// The message of an ITK exception in one line, without the name and address of the object.
std::string itkMessage(const std::exception& exception);

}
