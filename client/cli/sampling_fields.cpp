#include "client/cli/sampling_fields.h"

#include <charconv>
#include <limits>
#include <string>
#include <utility>

namespace deepinfer::cli {
namespace {

using nlohmann::json;

constexpr IntegerRange kTokenIds{0, std::numeric_limits<std::int32_t>::max()};
constexpr std::int64_t kMostTopLogprobs = 1000;
constexpr std::int64_t kMostChoices = 128;

// The value of whichever of two names is there.
std::optional<std::int64_t> aliased(FieldReader& fields, std::string_view name,
                                    std::string_view alias, const IntegerRange& range) {
  fields.exclude(name, alias);
  const auto value = fields.integer(name, range);
  const auto other = fields.integer(alias, range);
  return value ? value : other;
}

void read_lengths(FieldReader& fields, SamplingParams& params) {
  params.max_tokens = aliased(fields, "max_tokens", "max_completion_tokens", {.least = 1});
  fields.exclude("min_tokens", "first_n_token_no_eos");
  params.min_tokens = fields.integer("min_tokens", {.least = 0}).value_or(0);
  // The reference engine's name: 1 keeps the end token out of the first place.
  if (const auto first = fields.integer("first_n_token_no_eos", {.least = 0, .most = 1})) {
    params.min_tokens = *first;
  }
  if (params.max_tokens && params.min_tokens > *params.max_tokens) {
    fields.note("conflicting_fields", "min_tokens",
                "min_tokens is " + std::to_string(params.min_tokens) + ", above max_tokens, " +
                    std::to_string(*params.max_tokens));
  }
  params.ignore_eos = fields.boolean("ignore_eos").value_or(params.ignore_eos);
  params.n = fields.integer("n", {.least = 1, .most = kMostChoices}).value_or(params.n);
}

void read_distribution(FieldReader& fields, SamplingParams& params) {
  const NumberRange penalty{.least = -2, .most = 2};
  const auto read = [&fields](std::string_view name, const NumberRange& range, double& value) {
    value = fields.number(name, range).value_or(value);
  };
  read("temperature", {.least = 0}, params.temperature);
  read("top_p", {.least = 0, .most = 1, .low = Bound::kExcluded}, params.top_p);
  read("min_p", {.least = 0, .most = 1, .high = Bound::kExcluded}, params.min_p);
  read("presence_penalty", penalty, params.presence_penalty);
  read("frequency_penalty", penalty, params.frequency_penalty);
  read("repetition_penalty", {.least = 0, .low = Bound::kExcluded}, params.repetition_penalty);
  // -1 means all tokens, as 0 does, to users who come from other engines.
  if (const auto top_k = fields.integer("top_k", {.least = -1})) {
    params.top_k = *top_k < 0 ? 0 : *top_k;
  }
}

// {"17": -100, "4000": 2.5}
void read_logit_bias(FieldReader& fields, SamplingParams& params) {
  const json* bias = fields.value("logit_bias");
  if (bias == nullptr) return;
  if (!bias->is_object()) {
    fields.note("invalid_type", "logit_bias",
                "logit_bias must be an object of token ids and numbers, is " + shown(*bias));
    return;
  }
  for (const auto& [name, value] : bias->items()) {
    const std::string pointer = pointer_to(fields.pointer("logit_bias"), name);
    std::int32_t id = 0;
    const char* end = name.data() + name.size();
    const auto [stop, code] = std::from_chars(name.data(), end, id);
    if (code != std::errc{} || stop != end || id < 0) {
      fields.problems().push_back(
          {"invalid_value", "logit_bias has the key " + shown(json(name)) + ", not a token id",
           pointer});
      continue;
    }
    const auto amount = number_of(value, pointer, {.least = -100, .most = 100}, fields.problems());
    if (amount) params.logit_bias.emplace(id, *amount);
  }
}

void add_stop(FieldReader& fields, const json& value, const std::string& pointer,
              SamplingParams& params) {
  if (!value.is_string()) {
    fields.problems().push_back(
        {"invalid_type", "a stop must be a string, is " + shown(value), pointer});
    return;
  }
  auto stop = value.get<std::string>();
  if (stop.empty()) {
    fields.problems().push_back({"invalid_value", "a stop string is empty", pointer});
    return;
  }
  params.stop.push_back(std::move(stop));
}

// A string, or an array of them.
void read_stop(FieldReader& fields, SamplingParams& params) {
  const json* stop = fields.value("stop");
  if (stop == nullptr) return;
  const std::string pointer = fields.pointer("stop");
  if (!stop->is_array()) {
    add_stop(fields, *stop, pointer, params);
    return;
  }
  for (std::size_t i = 0; i < stop->size(); ++i) {
    add_stop(fields, (*stop)[i], pointer_to(pointer, std::to_string(i)), params);
  }
}

void read_stop_token_ids(FieldReader& fields, SamplingParams& params) {
  const json* ids = fields.value("stop_token_ids");
  if (ids == nullptr) return;
  if (!ids->is_array()) {
    fields.note("invalid_type", "stop_token_ids",
                "stop_token_ids must be an array, is " + shown(*ids));
    return;
  }
  for (std::size_t i = 0; i < ids->size(); ++i) {
    const std::string pointer = pointer_to(fields.pointer("stop_token_ids"), std::to_string(i));
    const auto id = integer_of((*ids)[i], pointer, kTokenIds, fields.problems());
    if (id) params.stop_token_ids.push_back(static_cast<std::int32_t>(*id));
  }
}

void read_stops(FieldReader& fields, SamplingParams& params) {
  read_stop(fields, params);
  read_stop_token_ids(fields, params);
  params.include_stop_str_in_output =
      fields.boolean("include_stop_str_in_output").value_or(params.include_stop_str_in_output);
  params.skip_special_tokens =
      fields.boolean("skip_special_tokens").value_or(params.skip_special_tokens);
}

// Seeds use all 64 bits.
std::optional<std::uint64_t> seed_of(FieldReader& fields, std::string_view name) {
  const json* value = fields.value(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  const auto seed = integer_of(*value, fields.pointer(name), {.least = 0}, fields.problems());
  if (!seed) return std::nullopt;
  return static_cast<std::uint64_t>(*seed);
}

void read_seed(FieldReader& fields, SamplingParams& params) {
  fields.exclude("seq_seed", "seed");
  const auto seed = seed_of(fields, "seq_seed");
  const auto alias = seed_of(fields, "seed");
  params.seed = seed ? seed : alias;
}

// `logprobs` as a number, with no `top_logprobs` beside it.
void read_logprobs_count(FieldReader& fields, SamplingParams& params) {
  params.logprobs = fields.integer("logprobs", {.least = 0, .most = kMostTopLogprobs});
  if (fields.has("top_logprobs")) {
    fields.note("conflicting_fields", "top_logprobs",
                "top_logprobs goes with logprobs true, not with a number");
  }
}

void read_logprobs(FieldReader& fields, LogprobsStyle style, SamplingParams& params) {
  const json* logprobs = fields.value("logprobs");
  const auto top = fields.integer("top_logprobs", {.least = 0, .most = kMostTopLogprobs});
  const bool is_count = logprobs != nullptr && !logprobs->is_boolean();
  if (style == LogprobsStyle::kCount || (style == LogprobsStyle::kEither && is_count)) {
    read_logprobs_count(fields, params);
    return;
  }
  const bool is_asked = fields.boolean("logprobs").value_or(false);
  if (is_asked) params.logprobs = top.value_or(0);
  if (!is_asked && top && !is_count) {
    fields.note("conflicting_fields", "top_logprobs", "top_logprobs needs logprobs to be true");
  }
}

void read_logprobs_mode(FieldReader& fields, SamplingParams& params) {
  const auto mode = fields.text("logprobs_mode");
  if (!mode) return;
  if (*mode == "raw") {
    params.logprobs_mode = LogprobsMode::kRaw;
  } else if (*mode == "processed") {
    params.logprobs_mode = LogprobsMode::kProcessed;
  } else {
    fields.note("invalid_value", "logprobs_mode",
                "logprobs_mode must be raw or processed, is " + shown(json(*mode)));
  }
}

}  // namespace

SamplingParams read_sampling(FieldReader& fields, LogprobsStyle style) {
  SamplingParams params;
  read_lengths(fields, params);
  read_distribution(fields, params);
  read_logit_bias(fields, params);
  read_stops(fields, params);
  read_seed(fields, params);
  read_logprobs(fields, style, params);
  read_logprobs_mode(fields, params);
  fields.refuse("prompt_logprobs", "prompt_logprobs are not built into this version");
  fields.refuse("golden_token_ids", "golden_token_ids are not built into this version");
  fields.refuse("so_args", "structured output (so_args) is not built into this version");
  return params;
}

}  // namespace deepinfer::cli
