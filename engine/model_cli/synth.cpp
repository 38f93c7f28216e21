// deepinfer-model synth.
#include "engine/checkpoint/synth/synth_folder.h"
#include "engine/model_cli/commands.h"
#include "engine/model_cli/summary.h"
#include "engine/model_cli/terminal.h"

namespace deepinfer::engine::cli {

int run_synth(const SynthCommand& options) {
  Result<SynthSummary> written = [&] {
    ProgressLine line("writing");
    return write_synth(options.output, {.preset = options.preset,
                                        .seed = options.seed,
                                        .sparse = options.sparse,
                                        .progress = [&](std::int64_t done, std::int64_t total) {
                                          return line.show(done, total);
                                        }});
  }();
  if (!written) return report_write_failure(written.error(), options.output);
  print_summary({.folder = options.output.string(),
                 .tensors = written->tensors,
                 .bytes = written->bytes,
                 .files = written->files},
                options.json);
  return kDone;
}

}  // namespace deepinfer::engine::cli
