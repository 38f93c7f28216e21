#include "client/cli/json_text.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace deepinfer::cli {
namespace {

using nlohmann::json;

// Watches the parser: remembers the keys of every open object and the depth.
class Watcher {
 public:
  // What json::parse calls for each event; false drops the value.
  bool on_event(int depth, json::parse_event_t event, const json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kDeepestNesting) {
        note("nested deeper than " + std::to_string(kDeepestNesting));
        return false;
      }
      if (event == Event::object_start) keys_.emplace_back();
    }
    if (event == Event::object_end && !keys_.empty()) keys_.pop_back();
    if (event == Event::key && !keys_.empty()) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) note("the key \"" + key + "\" occurs twice");
    }
    return true;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void note(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }

  std::vector<std::set<std::string>> keys_;
  std::string problem_;
};

// "[json.exception...] parse error at line 1, column 5: syntax error ...: REASON" -> the reason.
std::string reason_of(const json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t colon = text.find(": ");
  std::string reason(colon == std::string_view::npos ? text : text.substr(colon + 2));
  for (char& letter : reason) {
    if (static_cast<unsigned char>(letter) < 0x20) letter = ' ';
  }
  return reason;
}

Error not_json(const std::string& reason) {
  return fail(ErrorCode::kInvalidArgument, "not valid JSON: " + reason);
}

}  // namespace

Result<json> parse_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    return not_json("a byte order mark in front, allowed at the start of a file only");
  }
  Watcher watcher;
  const auto on_event = [&watcher](int depth, json::parse_event_t event, json& value) {
    return watcher.on_event(depth, event, value);
  };
  try {
    json document = json::parse(text, on_event);
    if (!watcher.problem().empty()) return not_json(watcher.problem());
    return document;
  } catch (const json::parse_error& error) {
    return not_json("byte " + std::to_string(error.byte) + ": " + reason_of(error));
  } catch (const json::exception& error) {
    return not_json(reason_of(error));
  }
}

std::string valid_utf8(std::string_view text) {
  // The library replaces such bytes when it writes, and gives them back when it reads that.
  const std::string written =
      json(text).dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
  return json::parse(written, nullptr, /*allow_exceptions=*/false).get<std::string>();
}

}  // namespace deepinfer::cli
