// What was written, for a reader or for a program.
#pragma once

#include <cstdint>
#include <string>

namespace deepinfer::engine::cli {

struct WrittenFolder {
  std::string folder;
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;  // of tensors
  std::int64_t files = 0;  // weight files
};

void print_summary(const WrittenFolder& written, bool as_json);

}  // namespace deepinfer::engine::cli
