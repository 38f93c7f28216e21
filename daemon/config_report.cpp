#include "daemon/config_report.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <variant>

#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "config/settings.h"
#include "config/words.h"

namespace deepinfer::daemon {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<config::Problem>& problems) {
  Json list = Json::array();
  for (const config::Problem& problem : problems) {
    list.push_back({{"what", problem.what}, {"where", problem.where}, {"mend", problem.mend}});
  }
  return list;
}

// The value of the member that it is called with.
struct Reader {
  const config::Setting& setting;
  const config::Options& options;

  Json operator()(const std::int64_t* value) const { return *value; }
  Json operator()(const std::optional<std::int64_t>* value) const {
    return value->value_or(config::max_batch_tokens(options.engine));
  }
  Json operator()(const std::uint32_t* mode) const {
    std::array<char, 16> digits{};
    static_cast<void>(std::snprintf(digits.data(), digits.size(), "%04o", *mode));
    return digits.data();
  }
  Json operator()(const std::string* value) const { return *value; }
  Json operator()(const std::vector<std::uint32_t>* ids) const { return *ids; }
  Json operator()(const std::chrono::milliseconds* time) const {
    return std::chrono::duration<double>(*time).count();
  }
  template <typename Enum>
  requires std::is_enum_v<Enum> Json operator()(const Enum* value) const {
    return std::string(config::word_at(setting.words, static_cast<std::size_t>(*value)));
  }
};

Json values_of(const config::Loaded& loaded) {
  config::Options options =
      loaded.options;  // a field's place is that of something that can be written
  Json sections = Json::object();
  for (const config::Field& field : config::fields()) {
    const std::size_t dot = field.key.find('.');
    const auto origin = loaded.origins.find(field.key);
    const Reader reader{*config::setting_of_key(field.key), loaded.options};
    sections[std::string(field.key.substr(0, dot))][std::string(field.key.substr(dot + 1))] = {
        {"value", std::visit(reader, field.in(options))},
        {"origin", origin == loaded.origins.end() ? "default" : origin->second}};
  }
  return sections;
}

}  // namespace

std::string config_report(const config::Loaded& loaded) {
  Json report;
  report["is_valid"] = loaded.problems.empty();
  report["errors"] = to_json(loaded.problems);
  report["warnings"] = to_json(loaded.warnings);
  report["configuration"] = loaded.problems.empty() ? values_of(loaded) : Json();
  // A path is bytes: what is not UTF-8 becomes U+FFFD instead of an exception.
  return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace deepinfer::daemon
