#include "engine/text/python_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

namespace deepinfer::engine {
namespace {

// repr() of a float: its shortest digits, with an exponent below 1e-4 and from 1e16 on.
std::string python_float(double value) {
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value),
                                 std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  const int exponent = std::stoi(std::string(text.substr(e + 1)));

  std::string out = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    const std::string power = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

// Takes a value as a series of events and writes it; keeps the members of the outermost object.
class PythonWriter final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return write("null"); }
  bool boolean(bool value) override { return write(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return write(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return write(std::to_string(value)); }
  bool number_float(number_float_t value, const string_t& digits) override {
    // An integer beyond 64 bits arrives here too: Python keeps all of its digits.
    const bool is_integer = !digits.empty() && digits.find_first_of(".eE") == std::string::npos;
    return write(is_integer ? digits : python_float(value));
  }
  bool string(string_t& value) override {
    if (is_member_level()) members_[current_] = {members_[current_].key, true, value};
    return write(json_string(value));
  }
  bool binary(binary_t& /*value*/) override { return false; }  // no JSON text holds one
  bool start_object(std::size_t /*elements*/) override {
    if (first_.empty()) is_object_ = true;
    return open('{');
  }
  bool key(string_t& name) override {
    if (is_member_level()) begin_member(name);
    separate();
    out_ += json_string(name) + ": ";
    after_key_ = true;
    if (is_member_level()) member_begin_ = out_.size();
    return true;
  }
  bool end_object() override {
    if (is_member_level()) end_member();
    return close('}');
  }
  bool start_array(std::size_t /*elements*/) override { return open('['); }
  bool end_array() override { return close(']'); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

  [[nodiscard]] bool is_object() const { return is_object_; }
  [[nodiscard]] std::string take_text() { return std::move(out_); }
  [[nodiscard]] std::vector<JsonMember> take_members() { return std::move(members_); }

 private:
  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (first_.empty()) return;
    if (!first_.back()) out_ += ", ";
    first_.back() = false;
  }
  bool write(std::string_view text) {
    separate();
    out_ += text;
    return true;
  }
  bool open(char bracket) {
    separate();
    out_ += bracket;
    first_.push_back(true);
    return true;
  }
  bool close(char bracket) {
    out_ += bracket;
    first_.pop_back();
    return true;
  }
  [[nodiscard]] bool is_member_level() const { return is_object_ && first_.size() == 1; }
  void begin_member(const std::string& name) {
    end_member();
    const auto [place, is_new] = places_.try_emplace(name, members_.size());
    if (is_new) members_.push_back({.key = name, .is_string = false, .value = {}});
    current_ = place->second;
    members_[current_].is_string = false;
  }
  void end_member() {
    if (members_.empty() || members_[current_].is_string) return;
    members_[current_].value = out_.substr(member_begin_);
  }

  std::string out_;
  std::vector<bool> first_;  // for each open bracket: nothing was written in it yet
  std::vector<JsonMember> members_;
  std::unordered_map<std::string, std::size_t> places_;  // of each name in members_
  std::size_t current_ = 0;                              // the member whose value is being written
  std::size_t member_begin_ = 0;  // where the current member's value begins in out_
  bool is_object_ = false;
  bool after_key_ = false;
};

bool feed(const Json& value, PythonWriter& writer, int depth);

bool feed_object(const Json& object, PythonWriter& writer, int depth) {
  writer.start_object(object.size());
  for (const auto& item : object.items()) {
    std::string key = item.key();
    writer.key(key);
    if (!feed(item.value(), writer, depth + 1)) return false;
  }
  return writer.end_object();
}

bool feed_array(const Json& array, PythonWriter& writer, int depth) {
  writer.start_array(array.size());
  for (const Json& item : array) {
    if (!feed(item, writer, depth + 1)) return false;
  }
  return writer.end_array();
}

bool feed(const Json& value, PythonWriter& writer, int depth) {
  if (depth > kMaxJsonDepth) return false;
  switch (value.type()) {
    case Json::value_t::object:
      return feed_object(value, writer, depth);
    case Json::value_t::array:
      return feed_array(value, writer, depth);
    case Json::value_t::string: {
      std::string text = value.get<std::string>();
      return writer.string(text);
    }
    case Json::value_t::boolean:
      return writer.boolean(value.get<bool>());
    case Json::value_t::number_integer:
      return writer.number_integer(value.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return writer.number_unsigned(value.get<std::uint64_t>());
    case Json::value_t::number_float:
      return writer.number_float(value.get<double>(), {});
    default:
      return writer.null();
  }
}

Error too_deep() {
  return fail(ErrorCode::kInvalidArgument,
              "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
}

}  // namespace

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Result<std::string> python_json(const Json& value) {
  PythonWriter writer;
  if (!feed(value, writer, 0)) return too_deep();
  return writer.take_text();
}

std::optional<std::string> reformat_json(std::string_view text) {
  PythonWriter writer;
  if (!Json::sax_parse(text.begin(), text.end(), &writer)) return std::nullopt;
  return writer.take_text();
}

std::optional<std::vector<JsonMember>> parse_members(std::string_view text) {
  PythonWriter writer;
  const bool is_json = Json::sax_parse(text.begin(), text.end(), &writer);
  if (!is_json || !writer.is_object()) return std::nullopt;
  return writer.take_members();
}

Result<std::vector<JsonMember>> json_members(const Json& object) {
  PythonWriter writer;
  if (!feed(object, writer, 0)) return too_deep();
  return writer.take_members();
}

}  // namespace deepinfer::engine
