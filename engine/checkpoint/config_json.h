// config.json of a checkpoint -> ModelShape, or everything that is wrong with it.
//
// Accepts the released nesting (text_config, vision_config) and the reference program's flat names
// (spec 2). Unknown keys are ignored, as the released files may carry more than we know; every value
// that the engine relies on is checked for type and range, and values it cannot run (another
// quantisation, another activation, tied experts' layout) are refused by name.
//
// Errors:   problems, each with the key as a JSON pointer
// Source:   spec/model.md 1.1, 2
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/checkpoint/problem.h"
#include "engine/model/shape.h"

namespace deepinfer::engine {

struct ShapeOrProblems {
  std::optional<ModelShape> shape;  // set exactly when problems is empty
  Problems problems;
};

[[nodiscard]] ShapeOrProblems parse_config(const std::string& text, const std::string& where);
[[nodiscard]] ShapeOrProblems read_config(const std::filesystem::path& folder);

}  // namespace deepinfer::engine
