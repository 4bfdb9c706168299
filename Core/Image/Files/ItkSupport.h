#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <exception>
#include <mutex>
#include <string>

namespace itk {
class ImageIOBase;
}

namespace tessera {

/// The header that an ITK reader holds after ReadImageInformation. Throws Error(unreadableInput) on unknown
/// component types.
ImageHeader headerFromItk(const itk::ImageIOBase& io, const std::string& path);

/// Tells an ITK reader to read everything.
void askForAllVoxels(itk::ImageIOBase& io);

/// To be held while ITK reads or writes a file: its readers and their libraries share state.
std::unique_lock<std::mutex> lockItkFiles();

/// One line of what ITK says, without the name and address of its object.
std::string itkMessage(const std::exception& exception);

}
