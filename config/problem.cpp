#include "config/problem.h"

namespace deepinfer::config {

std::string to_line(const Problem& problem) {
  std::string line = problem.what + " (" + problem.where + "): " + problem.mend;
  for (char& letter : line) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7F) letter = ' ';  // nor may a value speak to the terminal
  }
  return line;
}

}  // namespace deepinfer::config
