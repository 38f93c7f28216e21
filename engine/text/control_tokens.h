// Spellings of the control tokens that prompts and answers are made of; their ids are the tokenizer's.
//
// Source:   spec/model.md 9.1
#pragma once

#include <string_view>

namespace deepinfer::engine {

inline constexpr std::string_view kBeginToken = "<｜begin▁of▁sentence｜>";
inline constexpr std::string_view kEndToken = "<｜end▁of▁sentence｜>";
inline constexpr std::string_view kSystemToken = "<｜System｜>";
inline constexpr std::string_view kUserToken = "<｜User｜>";
inline constexpr std::string_view kAssistantToken = "<｜Assistant｜>";
inline constexpr std::string_view kLatestReminderToken = "<｜latest_reminder｜>";
inline constexpr std::string_view kThinkToken = "<think>";
inline constexpr std::string_view kThinkEndToken = "</think>";
inline constexpr std::string_view kDsmlToken = "｜DSML｜";

}  // namespace deepinfer::engine
