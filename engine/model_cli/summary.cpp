#include "engine/model_cli/summary.h"

#include <iostream>

#include <nlohmann/json.hpp>

#include "engine/model_cli/terminal.h"

namespace deepinfer::engine::cli {

void print_summary(const WrittenFolder& written, bool as_json) {
  if (!as_json) {
    std::cout << "wrote " << printable(written.folder) << ": " << grouped(written.tensors)
              << " tensors, " << grouped(written.bytes) << " bytes, " << written.files
              << " weight files\n";
    return;
  }
  const nlohmann::ordered_json report = {{"folder", written.folder},
                                         {"tensors", written.tensors},
                                         {"bytes", written.bytes},
                                         {"files", written.files}};
  std::cout << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace deepinfer::engine::cli
