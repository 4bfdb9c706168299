#include "Core/Runs/HeaderNotes.h"

namespace tessera {

ImageHeader readHeaderAndTell(const std::string& option, const std::string& path,
                              const ReadingOptions& reading, Log& log, void (Log::*tell)(const std::string&))
{
  ImageHeader header = withContext(option, [&] { return readImageHeader(path, reading); });
  for (const std::string& note : header.notes)
    (log.*tell)(option + ": " + note);
  return header;
}

}
