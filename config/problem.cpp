#include "config/problem.h"

namespace deepinfer::config {

std::string to_line(const Problem& problem) {
  std::string line = problem.what + " (" + problem.where + "): " + problem.mend;
  for (char& letter : line) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  return line;
}

}  // namespace deepinfer::config
