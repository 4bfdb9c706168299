#include "Core/Image/Pictures/Contours.h"

#include <cstdint>

namespace tessera {
namespace {

constexpr int right[] = {1, 0, -1, 0}, down[] = {0, 1, 0, -1}; // of a step in each of four directions

/// Takes the steps of a loop away and returns its path. `steps` has a bit for each direction in which a side
/// leads from a corner, with the label to its right.
std::string loopFrom(std::size_t corner, std::size_t cornersInRow, std::vector<std::uint8_t>& steps)
{
  int way = 0, x = 0, y = 0;
  while (!(steps[corner] >> way & 1))
    ++way;
  std::string path = "M" + std::to_string(2 * static_cast<int>(corner % cornersInRow) + right[way]) + " "
                     + std::to_string(2 * static_cast<int>(corner / cornersInRow) + down[way]);
  int times = 0;
  const auto write = [&] { // equal moves as one
    if (times > 0)
      path += "l" + std::to_string(times * x) + " " + std::to_string(times * y);
  };
  while (true) {
    steps[corner] = static_cast<std::uint8_t>(steps[corner] & ~(1 << way));
    corner += static_cast<std::size_t>(right[way]) + static_cast<std::size_t>(down[way]) * cornersInRow;
    if (steps[corner] == 0)
      break;
    int next = (way + 1) % 4; // to the right first: pixels that touch at a corner stay apart
    while (!(steps[corner] >> next & 1))
      next = (next + 3) % 4;
    const int nextX = right[way] + right[next], nextY = down[way] + down[next];
    if (nextX != x || nextY != y) {
      write();
      times = 0;
    }
    x = nextX;
    y = nextY;
    ++times;
    way = next;
  }
  write();
  return path + "z";
}

}

std::map<int, std::string> contours(const std::vector<int>& labels, std::size_t width)
{
  const std::size_t height = labels.size() / width, cornersInRow = width + 1;
  std::map<int, std::vector<std::size_t>> pixels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != 0)
      pixels[labels[i]].push_back(i);
  std::vector<std::uint8_t> steps(cornersInRow * (height + 1));
  std::map<int, std::string> paths;
  for (const auto& [label, ofLabel] : pixels) {
    for (const std::size_t i : ofLabel)
      for (int way = 0; way < 4; ++way) { // along the side above, to the right, below, to the left
        const std::size_t x = i % width, y = i / width, otherX = x + static_cast<std::size_t>(down[way]),
                          otherY = y + static_cast<std::size_t>(-right[way]);
        if (otherX >= width || otherY >= height || labels[otherY * width + otherX] != label)
          steps[(y + (way == 2 || way == 3)) * cornersInRow + x + (way == 1 || way == 2)] |=
              static_cast<std::uint8_t>(1 << way);
      }
    for (const std::size_t i : ofLabel)
      for (const std::size_t corner :
           {i + i / width, i + i / width + 1, i + i / width + cornersInRow + 1, i + i / width + cornersInRow})
        while (steps[corner] != 0)
          paths[label] += loopFrom(corner, cornersInRow, steps);
  }
  return paths;
}

}
