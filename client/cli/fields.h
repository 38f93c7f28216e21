// Reads the fields of one JSON object with their types and ranges, and collects what is wrong.
//
// A field that is null counts as absent. Fields that nobody asked for are unknown.
// Lifetime: the object and the Problems outlive the reader.
// Threads:  confined to one thread
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace deepinfer::cli {

// What is wrong with a request, as its record says it.
struct FieldProblem {
  std::string code;     // "invalid_type", ...; docs/reference/errors.md
  std::string message;  // one lower-case clause with the offending value
  std::string param;    // JSON pointer into the line, or empty
};
using FieldProblems = std::vector<FieldProblem>;

struct IntegerRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

enum class Bound : std::uint8_t { kIncluded, kExcluded };
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  Bound low = Bound::kIncluded;
  Bound high = Bound::kIncluded;
};

// Appends "/NAME" to a JSON pointer, escaped.
[[nodiscard]] std::string pointer_to(std::string_view parent, std::string_view name);
// A value as messages show it: its JSON, cut after 60 characters.
[[nodiscard]] std::string shown(const nlohmann::json& value);

// A whole number; 1.0 is one, true is not. Empty with a problem noted otherwise.
[[nodiscard]] std::optional<std::int64_t> integer_of(const nlohmann::json& value,
                                                     const std::string& pointer,
                                                     const IntegerRange& range,
                                                     FieldProblems& problems);
[[nodiscard]] std::optional<double> number_of(const nlohmann::json& value,
                                              const std::string& pointer, const NumberRange& range,
                                              FieldProblems& problems);

class FieldReader {
 public:
  // `pointer` is where the object stands in the line: "" or "/body".
  FieldReader(const nlohmann::json& object, std::string pointer, FieldProblems& problems);

  // The raw value, or null when absent. Every name passed here, or to a reader below, is known.
  [[nodiscard]] const nlohmann::json* value(std::string_view name);
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name,
                                                    const IntegerRange& range);
  [[nodiscard]] std::optional<double> number(std::string_view name, const NumberRange& range);
  [[nodiscard]] std::optional<bool> boolean(std::string_view name);
  [[nodiscard]] std::optional<std::string> text(std::string_view name);

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::string pointer(std::string_view name) const;
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] FieldProblems& problems() { return problems_; }
  void note(std::string_view code, std::string_view name, std::string message);
  // Two fields that exclude each other: notes a problem when both are there.
  void exclude(std::string_view first, std::string_view second);
  // Notes invalid_value with `message` when the field is there.
  void refuse(std::string_view name, std::string_view message);

  // Notes every field that was not asked for.
  void finish();

 private:
  const nlohmann::json& object_;
  std::string pointer_;
  FieldProblems& problems_;
  std::vector<std::string> known_;
};

}  // namespace deepinfer::cli
