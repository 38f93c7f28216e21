// Options from the configuration file, or from a pipe in its place: at most 1 MiB of TOML.
//
// Errors:   one problem when it cannot be read, else those of config/toml_settings.h
// Threads:  reads the file; no state
#pragma once

#include <filesystem>

#include "config/assignments.h"

namespace deepinfer::config {

enum class Presence : bool { kOptional, kRequired };

// A missing file is a problem only where it is required; one that cannot be read is one always.
void apply_file(const std::filesystem::path& path, Presence presence, Assignments& state);

}  // namespace deepinfer::config
