#include "engine/model_cli/verify_files.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/mapped_file.h"
#include "engine/checkpoint/sha256.h"
#include "engine/checkpoint/strict_json.h"

namespace deepinfer::engine::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kTokenizer = "tokenizer.json";
constexpr const char* kSums = "SHA256SUMS";
constexpr const char* kTokenizerMend = "use the tokenizer.json that belongs to the weights";
constexpr std::size_t kMaxTokenizerBytes = 256U << 20U;
constexpr std::size_t kMaxSumsBytes = 16U << 20U;
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kHashBlock = 4U << 20U;

// Every id that the tokenizer gives; empty when its form is not understood.
std::optional<std::set<std::int64_t>> token_ids(const Json& tokenizer) {
  const Json::json_pointer vocabulary("/model/vocab");
  if (!tokenizer.is_object() || !tokenizer.contains(vocabulary)) return std::nullopt;
  std::set<std::int64_t> ids;
  for (const auto& id : tokenizer.at(vocabulary)) {
    if (!id.is_number_integer()) return std::nullopt;
    ids.insert(id.get<std::int64_t>());
  }
  if (!tokenizer.contains("added_tokens")) return ids;
  for (const auto& token : tokenizer["added_tokens"]) {
    if (!token.is_object() || !token.contains("id") || !token["id"].is_number_integer()) {
      return std::nullopt;
    }
    ids.insert(token["id"].get<std::int64_t>());
  }
  return ids;
}

std::optional<std::string> wrong_with_ids(const Json& tokenizer, std::int64_t vocabulary) {
  const std::optional<std::set<std::int64_t>> ids = token_ids(tokenizer);
  if (!ids || ids->empty()) return "there is no vocabulary (/model/vocab) of whole-number ids";
  if (vocabulary < 0) return std::nullopt;
  const auto count = static_cast<std::int64_t>(ids->size());
  if (count == vocabulary && *ids->begin() == 0 && *ids->rbegin() == vocabulary - 1) {
    return std::nullopt;
  }
  return "config.json has a vocabulary of " + std::to_string(vocabulary) + ", the tokenizer " +
         std::to_string(count) + " ids from " + std::to_string(*ids->begin()) + " to " +
         std::to_string(*ids->rbegin());
}

using Sums = std::map<std::string, std::string>;  // file -> digest

bool stays_inside(const std::string& file) {
  const fs::path path(file);
  if (file.empty() || path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// A line of sha256sum: a digest, a space, a space or an asterisk, a name. Digest and name of it.
std::optional<std::pair<std::string, std::string>> parse_sum_line(const std::string& line) {
  if (line.size() <= kDigestDigits + 2 || line[kDigestDigits] != ' ') return std::nullopt;
  if (line.find_first_not_of("0123456789abcdefABCDEF") != kDigestDigits) return std::nullopt;
  const std::string file = line.substr(kDigestDigits + 2);
  if (!stays_inside(file)) return std::nullopt;
  std::string digest = line.substr(0, kDigestDigits);
  for (char& digit : digest) {
    if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
  }
  return std::pair(std::move(digest), fs::path(file).lexically_normal().string());
}

Sums parse_sums(const std::string& text, Problems& problems) {
  Sums sums;
  std::istringstream lines(text);
  std::string line;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    std::optional<std::pair<std::string, std::string>> sum = parse_sum_line(line);
    if (sum) {
      sums[std::move(sum->second)] = std::move(sum->first);
      continue;
    }
    problems.push_back({.where = std::string(kSums) + ":" + std::to_string(number),
                        .what = "the line is not a SHA-256 digest and a file of this folder",
                        .mend = "write it again with sha256sum"});
  }
  return sums;
}

// Names of all regular files below the folder; what begins with a dot is the user's own.
std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().front() == '.') {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;  // what cannot be looked at is no regular file to us
    if (entry->is_regular_file(ignored)) {
      files.push_back(entry->path().lexically_relative(folder).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class SumChecker {
 public:
  SumChecker(fs::path folder, const std::function<bool(std::int64_t, std::int64_t)>& progress)
      : folder_(std::move(folder)), progress_(progress) {}

  Problems check(const Sums& sums) {
    for (const auto& [file, digest] : sums) {
      std::error_code ignored;
      const auto size = fs::file_size(folder_ / file, ignored);
      if (!ignored) total_ += static_cast<std::int64_t>(size);
    }
    for (const auto& [file, digest] : sums) {
      if (!check_file(file, digest)) return std::move(problems_);
    }
    for (const std::string& file : files_of(folder_)) {
      if (file == kSums || sums.count(file) != 0) continue;
      report(file, "SHA256SUMS does not list this file", "remove it, or list it");
    }
    return std::move(problems_);
  }

 private:
  void report(std::string where, std::string what, std::string mend) {
    problems_.push_back({std::move(where), std::move(what), std::move(mend)});
  }

  // False when the user asked to stop.
  bool check_file(const std::string& file, const std::string& expected) {
    std::error_code ignored;
    if (!fs::exists(folder_ / file, ignored)) {
      report(file, "SHA256SUMS lists this file, it is missing", "download the file");
      return true;
    }
    const Result<MappedFile> mapping = MappedFile::open(folder_ / file);
    if (!mapping) {
      report(file, mapping.error().message, "make the file readable, or download it again");
      return true;
    }
    Sha256 hash;
    std::span<const std::uint8_t> rest = mapping->bytes();
    while (!rest.empty()) {
      const std::span<const std::uint8_t> block = rest.first(std::min(rest.size(), kHashBlock));
      hash.update(block);
      rest = rest.subspan(block.size());
      done_ += static_cast<std::int64_t>(block.size());
      if (!progress_(done_, total_)) return false;
    }
    const std::string digest = hash.finish();
    if (digest != expected) {
      report(file, "its SHA-256 is " + digest + ", SHA256SUMS says " + expected,
             "download the file again");
    }
    return true;
  }

  fs::path folder_;
  const std::function<bool(std::int64_t, std::int64_t)>& progress_;
  Problems problems_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace

Problems check_tokenizer(const fs::path& folder, std::int64_t vocabulary) {
  const auto problem = [](std::string what) {
    return Problems{{.where = kTokenizer, .what = std::move(what), .mend = kTokenizerMend}};
  };
  const Result<std::string> text = read_text(folder / kTokenizer, kMaxTokenizerBytes);
  if (!text) return problem(text.error().message);
  const StrictJson parsed = parse_strict_json(*text);
  if (parsed.error) return problem(*parsed.error);
  const std::optional<std::string> wrong = wrong_with_ids(parsed.value, vocabulary);
  return wrong ? problem(*wrong) : Problems{};
}

Problems check_sums(const fs::path& folder,
                    const std::function<bool(std::int64_t, std::int64_t)>& progress) {
  std::error_code ignored;
  if (!fs::exists(folder / kSums, ignored)) return {};
  const Result<std::string> text = read_text(folder / kSums, kMaxSumsBytes);
  if (!text) {
    return {{.where = kSums, .what = text.error().message, .mend = "make the file readable"}};
  }
  Problems problems;
  const Sums sums = parse_sums(*text, problems);
  const Problems found = SumChecker(folder, progress).check(sums);
  problems.insert(problems.end(), found.begin(), found.end());
  return problems;
}

}  // namespace deepinfer::engine::cli
