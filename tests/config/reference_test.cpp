// The pages and the default file against the tables of the program: neither may know more than the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "config/fields.h"
#include "config/load.h"
#include "config/settings.h"
#include "tests/config/lines.h"

namespace deepinfer::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path kRoot = DEEPINFER_SOURCE_DIR;

std::vector<std::string> lines_of_file(const std::string& path) {
  std::istringstream text(content_of(kRoot / path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::set<std::string> all_keys() {
  std::set<std::string> keys;
  for (const Setting& setting : known_settings()) keys.emplace(setting.key);
  return keys;
}

// Every "key = value" of the default file with its section, behind a # or not.
struct Written {
  std::string key;
  std::string line;  // without the #
  bool is_set = false;
};

std::vector<Written> written_keys() {
  std::vector<Written> keys;
  std::string section;
  for (std::string line : lines_of_file("config/deepinferd.toml")) {
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    const bool is_set = !line.starts_with('#');
    if (!is_set) line.erase(0, std::min<std::size_t>(2, line.size()));
    const std::size_t end = line.find(" = ");
    if (end == std::string::npos || line.find(' ') != end) continue;
    keys.push_back({section + "." + line.substr(0, end), line, is_set});
  }
  return keys;
}

TEST(DefaultFile, LoadingItGivesTheDefaults) {
  LoadSources sources;
  sources.file = kRoot / "config/deepinferd.toml";
  sources.is_file_required = true;
  const Loaded loaded = load(sources);

  EXPECT_THAT(lines_of(loaded.problems), IsEmpty());
  EXPECT_EQ(loaded.options, Options{});
  for (const auto& [key, origin] : loaded.origins) {
    if (key == "engine.max_batch_tokens") continue;  // its default is computed
    EXPECT_THAT(origin, HasSubstr("deepinferd.toml:")) << key;
  }
}

TEST(DefaultFile, NamesEveryKnownKeyOnce) {
  std::set<std::string> written;
  for (const Written& key : written_keys()) EXPECT_TRUE(written.insert(key.key).second) << key.key;

  EXPECT_EQ(written, all_keys());
}

TEST(DefaultFile, KeysBehindAHashAreRefusedOrMeanNothingMore) {
  for (const Written& written : written_keys()) {
    if (written.is_set) continue;
    const std::size_t dot = written.key.find('.');
    const Assignments state =
        read_toml("[" + written.key.substr(0, dot) + "]\n" + written.line + "\n");
    for (const std::string& line : lines_of(state.problems)) {
      EXPECT_THAT(line, HasSubstr("is not built into this version"));
    }
  }
}

// The row of each key in the page's tables, with the heading that it stands under.
std::map<std::string, std::pair<std::string, std::string>> rows_of_page() {
  std::map<std::string, std::pair<std::string, std::string>> rows;
  std::string heading;
  for (const std::string& line : lines_of_file("docs/reference/configuration.md")) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (!line.starts_with("| `")) continue;
    rows[line.substr(3, line.find('`', 3) - 3)] = {heading, line};
  }
  return rows;
}

TEST(Reference, HasOneRowForEveryKnownKeyAndNoOther) {
  std::set<std::string> keys;
  for (const auto& [key, row] : rows_of_page()) keys.insert(key);

  EXPECT_EQ(keys, all_keys());
}

TEST(Reference, RowsNameTheVariablesAndWhatIsBuilt) {
  const auto rows = rows_of_page();
  for (const Setting& setting : known_settings()) {
    const auto& [heading, row] = rows.at(std::string(setting.key));
    const bool is_applied = field_of(setting.key) != nullptr;
    EXPECT_EQ(heading, is_applied ? "Applied" : "Not built yet") << setting.key;
    const std::string variable = variable_of_key(setting.key).substr(10);
    EXPECT_THAT(row, HasSubstr("`" + variable + "`"));
    if (setting.variable.empty()) continue;
    EXPECT_THAT(row, HasSubstr("`" + std::string(setting.variable) + "`"));
  }
}

TEST(Reference, RowsNameWordsAndRanges) {
  const auto rows = rows_of_page();
  for (const Setting& setting : known_settings()) {
    const std::string& row = rows.at(std::string(setting.key)).second;
    std::istringstream words{std::string(setting.words)};
    for (std::string word; std::getline(words, word, '|');) {
      EXPECT_THAT(row, HasSubstr("`" + word + "`")) << setting.key;
    }
  }
  for (const Field& field : fields()) {
    if (field.most == 0 || field.shape == Shape::kWholePages) continue;
    const std::string& row = rows.at(std::string(field.key)).second;
    EXPECT_THAT(row, HasSubstr(std::to_string(field.most))) << field.key;
  }
}

TEST(Reference, TheEnvironmentsPageNamesEveryVariableOfTheReferenceEngine) {
  const std::string page = content_of(kRoot / "docs/reference/environment.md");
  for (const Setting& setting : known_settings()) {
    if (setting.variable.empty()) continue;
    EXPECT_THAT(page, HasSubstr("`" + std::string(setting.variable) + "`"));
    EXPECT_THAT(page, HasSubstr("`" + std::string(setting.key) + "`"));
  }
  for (const std::string_view name : ignored_variables()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(name) + "`"));
  }
}

}  // namespace
}  // namespace deepinfer::config
