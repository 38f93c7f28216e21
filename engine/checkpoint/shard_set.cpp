#include "engine/checkpoint/shard_set.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/strict_json.h"

namespace deepinfer::engine {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kDownload = "copy or download the file again";
constexpr const char* kIndexAgain = "download the index again, or write it to match the files";
constexpr std::size_t kMaxIndexBytes = 256U << 20U;  // the released index has about 9 MB

struct Index {
  std::map<std::string, std::vector<std::string>> files;  // file -> names placed there
  std::optional<std::int64_t> total_size;                 // bytes of all tensors
};

class FolderReader {
 public:
  explicit FolderReader(fs::path folder) : folder_(std::move(folder)) {}

  ShardSet read() {
    std::error_code error;
    if (fs::exists(folder_ / kIndexFile, error)) {
      const std::optional<Index> index = read_index();
      if (index) {
        open_indexed(*index);
      } else {
        set_.unusable = true;
      }
      return std::move(set_);
    }
    if (!fs::exists(folder_ / kSingleFile, error)) {
      report(folder_.string(),
             std::string("there is neither ") + kIndexFile + " nor " + kSingleFile,
             "name the folder that holds the model's files");
      set_.unusable = true;
      return std::move(set_);
    }
    set_.unusable = !open_file(kSingleFile);
    return std::move(set_);
  }

 private:
  void report(std::string where, std::string what, std::string mend) {
    set_.problems.push_back({std::move(where), std::move(what), std::move(mend)});
  }

  std::optional<Index> read_index() {
    const Result<std::string> text = read_text(folder_ / kIndexFile, kMaxIndexBytes);
    if (!text) {
      report(kIndexFile, text.error().message, kDownload);
      return std::nullopt;
    }
    const StrictJson parsed = parse_strict_json(*text);
    if (parsed.error) {
      report(kIndexFile, *parsed.error, kDownload);
      return std::nullopt;
    }
    if (!parsed.value.is_object() || !parsed.value.contains("weight_map") ||
        !parsed.value["weight_map"].is_object()) {
      report(kIndexFile, "there is no object weight_map", kIndexAgain);
      return std::nullopt;
    }
    for (const std::string& name : parsed.duplicates) {
      report(kIndexFile, "the name \"" + name + "\" occurs twice", kIndexAgain);
    }
    Index index;
    for (const auto& [name, file] : parsed.value["weight_map"].items()) {
      if (is_plain_file_name(file)) {
        index.files[file.get<std::string>()].push_back(name);
      } else {
        report(std::string(kIndexFile) + ": " + name,
               "the file must be named by a plain file name, got " + shown(file), kIndexAgain);
      }
    }
    index.total_size = read_total(parsed.value);
    return index;
  }

  // An index cannot make us read outside the folder.
  static bool is_plain_file_name(const Json& file) {
    if (!file.is_string()) return false;
    const auto& text = file.get_ref<const std::string&>();
    return !text.empty() && text != "." && text != ".." && text.find('/') == std::string::npos &&
           text.find('\0') == std::string::npos;
  }

  std::optional<std::int64_t> read_total(const Json& index) {
    if (!index.contains("metadata") || !index["metadata"].is_object()) return std::nullopt;
    const Json& metadata = index["metadata"];
    if (!metadata.contains("total_size")) return std::nullopt;
    const Json& total = metadata["total_size"];
    if (total.is_number_integer() && total >= 0 && total <= INT64_MAX) {
      return total.get<std::int64_t>();
    }
    report(kIndexFile, "metadata.total_size must be a whole number of bytes, got " + shown(total),
           kIndexAgain);
    return std::nullopt;
  }

  void open_indexed(const Index& index) {
    bool complete = true;
    for (const auto& [file, names] : index.files) {
      if (!open_file(file)) {
        complete = false;
        set_.lost.insert(names.begin(), names.end());
      }
    }
    compare_names(index);
    if (!complete || !index.total_size) return;
    std::int64_t bytes = 0;
    for (const Shard& shard : set_.shards) {
      for (const Tensor& tensor : shard.tensors) bytes += tensor.bytes;
    }
    if (bytes != *index.total_size && set_.problems.empty()) {
      report(kIndexFile,
             "metadata.total_size is " + std::to_string(*index.total_size) +
                 " bytes, the tensors have " + std::to_string(bytes),
             kIndexAgain);
    }
  }

  // False when nothing is known about what the file holds.
  bool open_file(const std::string& file) {
    std::error_code error;
    if (!fs::exists(folder_ / file, error)) {
      report(file, "the file is missing", "download the file, or name the folder that holds it");
      return false;
    }
    Result<MappedFile> mapping = MappedFile::open(folder_ / file);
    if (!mapping) {
      report(file, mapping.error().message, "make the file readable, or download it again");
      return false;
    }
    SafetensorsHeader header = read_safetensors_header(mapping->bytes(), file);
    set_.problems.insert(set_.problems.end(), header.problems.begin(), header.problems.end());
    // Names whose entries were refused are reported already.
    for (const Problem& problem : header.problems) {
      if (problem.where.size() > file.size() + 2) {
        set_.lost.insert(problem.where.substr(file.size() + 2));
      }
    }
    set_.shards.push_back({file, *std::move(mapping), std::move(header.tensors)});
    return header.readable;
  }

  void compare_names(const Index& index) {
    report_misplaced(index);
    std::set<std::string_view> found;
    for (const Shard& shard : set_.shards) {
      for (const Tensor& tensor : shard.tensors) found.insert(tensor.name);
    }
    for (const auto& [file, names] : index.files) {
      const std::string place = file + ": ";
      for (const std::string& name : names) {
        if (found.count(name) != 0 || set_.lost.count(name) != 0) continue;
        report(std::string(place).append(name),
               "the index places this tensor here, the file does not hold it",
               "download the file again, or correct the index");
        set_.lost.insert(name);
      }
    }
  }

  // Tensors that the index does not list, or lists in another file.
  void report_misplaced(const Index& index) {
    std::unordered_map<std::string_view, std::string_view> placed;  // name -> file of the index
    for (const auto& [file, names] : index.files) {
      for (const std::string& name : names) placed.emplace(name, file);
    }
    for (const Shard& shard : set_.shards) {
      for (const Tensor& tensor : shard.tensors) {
        const auto place = placed.find(tensor.name);
        if (place == placed.end()) {
          report(shard.file + ": " + tensor.name, "the index does not list this tensor",
                 kIndexAgain);
        } else if (place->second != shard.file) {
          report(shard.file + ": " + tensor.name,
                 "the index places this tensor in " + std::string(place->second), kIndexAgain);
        }
      }
    }
  }

  fs::path folder_;
  ShardSet set_;
};

}  // namespace

ShardSet open_shards(const fs::path& folder) { return FolderReader(folder).read(); }

}  // namespace deepinfer::engine
