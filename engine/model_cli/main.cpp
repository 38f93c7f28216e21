// deepinfer-model: the checkpoint tool. See docs/reference/deepinfer-model.md.
#include "engine/model_cli/command_line.h"
#include "engine/model_cli/terminal.h"

int main(int argc, char** argv) {
  deepinfer::engine::cli::catch_signals();
  return deepinfer::engine::cli::run_command_line(argc, argv);
}
