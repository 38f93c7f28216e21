// deepinfer-model export.
#include <cstddef>

#include "engine/checkpoint/checkpoint.h"
#include "engine/model_cli/commands.h"
#include "engine/model_cli/export_folder.h"
#include "engine/model_cli/summary.h"
#include "engine/model_cli/terminal.h"

namespace deepinfer::engine::cli {

int run_export(const ExportOptions& options) {
  constexpr std::size_t kShownProblems = 100;
  if (const int code = check_folder(options.folder); code != kDone) return code;
  const Checkpoint::Opened opened = Checkpoint::open(options.folder);
  if (opened.checkpoint == nullptr) {
    print_problems(opened.problems, kShownProblems);
    return kModel;
  }
  Result<WrittenFolder> written = [&] {
    ProgressLine line("exporting");
    return export_bf16(
        *opened.checkpoint, options.output,
        [&](std::int64_t done, std::int64_t total) { return line.show(done, total); });
  }();
  if (!written) return report_write_failure(written.error(), options.output);
  print_summary(*written, options.json);
  return kDone;
}

}  // namespace deepinfer::engine::cli
