// Looks values up in a config.json of either spelling and collects what is wrong with them.
//
// A key has a released name inside a section and a flat name of the reference program; the file's
// style decides which one a problem names.
//
// Threads:  confined to one thread. Lifetime: the tree outlives the reader.
// Errors:   problems; a getter that fails returns the field's smallest allowed value, so that
//           reading goes on and every problem is found in one run
// Source:   spec/model.md 2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/problem.h"

namespace deepinfer::engine {

// The sections of the released file; kRoot is its top level.
enum class ConfigSection : std::uint8_t { kRoot, kText, kVision, kQuantization, kRopeScaling };

// A key in both spellings. An empty flat name: the reference program has no such key.
struct ConfigKey {
  ConfigSection section = ConfigSection::kText;
  const char* released = "";
  const char* flat = "";
};

struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t multiple_of = 1;
  std::optional<std::int64_t> otherwise;  // value of an absent key; none: the key is required
};

struct NumberRange {
  double min = 0;
  double max = 0;
  std::optional<double> otherwise;
};

class ConfigReader {
 public:
  ConfigReader(const nlohmann::json& root, std::string where);

  // True for the reference program's spelling: one flat object.
  [[nodiscard]] bool is_flat() const { return flat_; }
  [[nodiscard]] bool has(const ConfigKey& key) const { return find(key) != nullptr; }
  [[nodiscard]] bool has_section(ConfigSection section) const;

  [[nodiscard]] std::int64_t integer(const ConfigKey& key, const IntegerRange& range);
  [[nodiscard]] double number(const ConfigKey& key, const NumberRange& range);
  // Empty for an absent key that is not required.
  [[nodiscard]] std::vector<std::int64_t> integers(const ConfigKey& key, const IntegerRange& each,
                                                   bool required);
  // Refuses any value but `only`; an absent key is refused when `required`.
  void expect(const ConfigKey& key, const nlohmann::json& only, bool required);

  void report(const ConfigKey& key, std::string what);
  [[nodiscard]] Problems& problems() { return problems_; }

 private:
  [[nodiscard]] const char* flat_name(const ConfigKey& key) const;
  [[nodiscard]] const nlohmann::json* find(const ConfigKey& key) const;
  [[nodiscard]] const nlohmann::json* section(ConfigSection section) const;
  [[nodiscard]] std::string pointer(const ConfigKey& key) const;
  [[nodiscard]] std::optional<std::int64_t> checked(const ConfigKey& key,
                                                    const nlohmann::json& value,
                                                    const IntegerRange& range);

  const nlohmann::json& root_;
  std::string where_;
  bool flat_;
  Problems problems_;
};

}  // namespace deepinfer::engine
