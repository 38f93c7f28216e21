#include "engine/checkpoint/strict_json.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace deepinfer::engine {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxShown = 60;  // bytes

// Builds the tree; each event returns false to stop the parser.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(StrictJson& out) : out_(out) {}

  bool null() override { return place(Json(nullptr)); }
  bool boolean(bool value) override { return place(Json(value)); }
  bool number_integer(number_integer_t value) override { return place(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return place(Json(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return place(Json(value));
  }
  bool string(string_t& value) override { return place(Json(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*count*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*count*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (stack_.back()->contains(name)) out_.duplicates.push_back(name);
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    out_.error = "not valid JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  // Puts a value where the text has it and remembers its place.
  Json* insert(Json value) {
    if (stack_.empty()) {
      out_.value = std::move(value);
      return &out_.value;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& slot = parent[key_];
    slot = std::move(value);
    return &slot;
  }
  bool place(Json value) {
    insert(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (stack_.size() == kMaxDepth) {
      out_.error = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    stack_.push_back(insert(std::move(container)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  StrictJson& out_;
  // The open containers. Stable: a parent does not change before its open child is closed.
  std::vector<Json*> stack_;
  std::string key_;
};

}  // namespace

StrictJson parse_strict_json(std::string_view text) {
  StrictJson parsed;
  TreeBuilder builder(parsed);
  if (!Json::sax_parse(text.begin(), text.end(), &builder) && !parsed.error) {
    parsed.error = "not valid JSON";
  }
  if (parsed.error) parsed.value = nullptr;
  return parsed;
}

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace deepinfer::engine
