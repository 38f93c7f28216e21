// What becomes of a request, as one line of the output or the error file.
//
// Every record has the same keys, whichever way the request ended: id, custom_id, response, error.
// The id is "batch_req_" and the line's number in the input, which is how --resume finds it again.
//
// Threads:  pure functions
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <deepinfer/engine.h>
#include <nlohmann/json.hpp>

#include "client/cli/batch_line.h"

namespace deepinfer::cli {

// What a record needs to know of its line once the request itself is gone to the engine.
struct RecordContext {
  std::int64_t line = 0;
  std::optional<std::string> custom_id;
  LineForm form = LineForm::kShort;
  RecordShape shape = RecordShape::kChat;
  bool thinking = false;
  bool return_token_ids = false;
};
[[nodiscard]] RecordContext context_of(const BatchLine& line);

struct Record {
  std::string text;         // one JSON object and a line feed
  bool is_success = false;  // for the output file; else for the error file
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

// Names and times that appear in a response.
struct ResponseFacts {
  std::string model;
  std::chrono::system_clock::time_point created;
};

// The body of a response: OpenAI's chat.completion or text_completion.
[[nodiscard]] nlohmann::ordered_json response_body(const RecordContext& context,
                                                   const RequestResult& result,
                                                   const ResponseFacts& facts);

[[nodiscard]] Record record_of_result(const RecordContext& context, const RequestResult& result,
                                      const ResponseFacts& facts);
// A line that the check before the run, or the engine, has refused.
[[nodiscard]] Record record_of_problems(const BatchLine& line);
[[nodiscard]] Record record_of_refusal(const RecordContext& context, const RequestError& error);

// The number in "batch_req_17"; nothing when `id` is of another form.
[[nodiscard]] std::optional<std::int64_t> line_of_record_id(std::string_view id);

}  // namespace deepinfer::cli
