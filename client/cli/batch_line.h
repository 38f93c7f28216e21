// One line of a batch file -> a request, or everything that is wrong with it.
//
// Both forms of docs/reference/batch-files.md are read: OpenAI's, with `url` and `body`, and the
// short one, with `sampling_params`.
//
// Errors:   FieldProblems with the codes of docs/reference/errors.md; never throws
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <deepinfer/engine.h>
#include <nlohmann/json_fwd.hpp>

#include "client/cli/deadline.h"
#include "client/cli/fields.h"

namespace deepinfer::cli {

enum class LineForm : std::uint8_t { kOpenAi, kShort };

// How the record of a request looks; which of the two APIs it belongs to.
enum class RecordShape : std::uint8_t { kChat, kCompletion };

// What a line that says nothing about them gets.
struct LineDefaults {
  std::int64_t priority = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  Moment now;
};

struct BatchLine {
  std::int64_t number = 0;               // in the file, from 1 on
  std::optional<std::string> custom_id;  // also of a line with problems, where it can be read
  LineForm form = LineForm::kShort;
  RecordShape shape = RecordShape::kChat;
  Request request;                // of use only when there are no problems
  bool return_token_ids = false;  // the record lists ids
  FieldProblems problems;
};

[[nodiscard]] BatchLine parse_batch_line(std::string_view text, std::int64_t number,
                                         const LineDefaults& defaults);

// The same for a line that was read as JSON already.
[[nodiscard]] BatchLine read_batch_line(const nlohmann::json& document, std::int64_t number,
                                        const LineDefaults& defaults);

// Where a parameter that the engine names ("/temperature") stands in a line of that form.
[[nodiscard]] std::string pointer_in_line(LineForm form, std::string_view engine_pointer);

}  // namespace deepinfer::cli
