#include "engine/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/checkpoint/strict_json.h"

namespace deepinfer::engine {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxRank = 8;
constexpr const char* kCopyAgain = "copy or download the file again";
constexpr const char* kWriteAgain = "write the file again with a correct safetensors writer";

// A tensor's extent, relative to the end of the header.
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::optional<StoredType> type_of(std::string_view name) {
  constexpr std::array kTypes = {StoredType::kBf16, StoredType::kF32, StoredType::kF8E4m3,
                                 StoredType::kF8E8m0, StoredType::kI8};
  for (const StoredType type : kTypes) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

std::optional<std::int64_t> natural(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;  // negative, fractional or not a number
  const auto number = value.get<std::uint64_t>();
  if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

// Reads one header; the members are what all of its steps need.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::uint8_t> file, std::string where)
      : file_(file), where_(std::move(where)) {}

  SafetensorsHeader read() {
    const std::optional<std::string_view> text = header_text();
    if (!text) return std::move(out_);
    const StrictJson parsed = parse_strict_json(*text);
    if (parsed.error) {
      report("the header is " + *parsed.error, kCopyAgain);
      return std::move(out_);
    }
    if (!parsed.value.is_object()) {
      report("the header is not a JSON object", kWriteAgain);
      return std::move(out_);
    }
    for (const std::string& name : parsed.duplicates) {
      report("the header holds the name \"" + name + "\" twice", kWriteAgain);
    }
    out_.readable = true;
    for (const auto& [name, entry] : parsed.value.items()) read_entry(name, entry);
    check_cover();
    return std::move(out_);
  }

 private:
  void report(std::string what, const char* mend) {
    out_.problems.push_back({.where = where_, .what = std::move(what), .mend = mend});
  }
  void report_tensor(const std::string& name, std::string what) {
    all_extents_known_ = false;
    out_.problems.push_back(
        {.where = where_ + ": " + name, .what = std::move(what), .mend = kWriteAgain});
  }

  std::optional<std::string_view> header_text() {
    if (file_.size() < kLengthBytes) {
      report("the file has " + std::to_string(file_.size()) +
                 " bytes, not even the 8 of a header length",
             kCopyAgain);
      return std::nullopt;
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::uint64_t{file_[i]} << (8 * i);
    if (length == 0) {
      report("the header length is 0", kCopyAgain);
      return std::nullopt;
    }
    if (length > kMaxHeaderBytes) {
      report("the header length " + std::to_string(length) + " is over the format's limit of " +
                 std::to_string(kMaxHeaderBytes),
             kCopyAgain);
      return std::nullopt;
    }
    if (length > file_.size() - kLengthBytes) {
      report("the header length " + std::to_string(length) + " reaches past the end of the file (" +
                 std::to_string(file_.size()) + " bytes)",
             kCopyAgain);
      return std::nullopt;
    }
    data_ = file_.subspan(kLengthBytes + length);
    const auto* text = reinterpret_cast<const char*>(file_.data()) + kLengthBytes;
    if (*text != '{') {
      report("the header does not begin with '{'", kCopyAgain);
      return std::nullopt;
    }
    return std::string_view(text, length);
  }

  void read_entry(const std::string& name, const Json& entry) {
    if (name == "__metadata__") {
      check_metadata(entry);
      return;
    }
    if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
        !entry.contains("shape") || !entry.contains("data_offsets")) {
      report_tensor(name,
                    "the entry must hold dtype, shape and data_offsets and nothing else, got " +
                        shown(entry));
      return;
    }
    Tensor tensor;
    tensor.name = name;
    const bool type_known = read_type(entry["dtype"], tensor);
    const bool shape_known = read_shape(entry["shape"], tensor);
    const std::optional<Extent> extent = read_extent(name, entry["data_offsets"]);
    if (!type_known || !shape_known || !extent) return;
    const std::optional<std::int64_t> bytes = bytes_of(tensor);
    if (!bytes) {
      report_tensor(name, "the shape " + shown(entry["shape"]) + " needs more than 2^63 bytes");
      return;
    }
    if (*bytes != extent->end - extent->begin) {
      report_tensor(name, std::string(name_of(tensor.type)) + " " + shown(entry["shape"]) +
                              " needs " + std::to_string(*bytes) + " bytes, data_offsets has " +
                              std::to_string(extent->end - extent->begin));
      return;
    }
    tensor.bytes = *bytes;
    tensor.data = data_.data() + extent->begin;
    out_.tensors.push_back(std::move(tensor));
  }

  void check_metadata(const Json& entry) {
    bool sound = entry.is_object();
    for (const auto& item : entry) sound = sound && item.is_string();
    if (!sound) report("__metadata__ must be an object of strings", kWriteAgain);
  }

  bool read_type(const Json& dtype, Tensor& tensor) {
    const std::optional<StoredType> type =
        dtype.is_string() ? type_of(dtype.get_ref<const std::string&>()) : std::nullopt;
    if (!type) {
      report_tensor(tensor.name, "unknown dtype " + shown(dtype) +
                                     ", the released format has BF16, F32, F8_E4M3, F8_E8M0, I8");
      return false;
    }
    tensor.type = *type;
    return true;
  }

  bool read_shape(const Json& shape, Tensor& tensor) {
    bool sound = shape.is_array() && shape.size() <= kMaxRank;
    if (sound) {
      for (const auto& item : shape) {
        const std::optional<std::int64_t> extent = natural(item);
        sound = sound && extent.has_value();
        tensor.shape.push_back(extent.value_or(0));
      }
    }
    if (!sound) {
      report_tensor(tensor.name,
                    "shape must be up to 8 whole numbers from 0 to 2^63 - 1, got " + shown(shape));
    }
    return sound;
  }

  std::optional<Extent> read_extent(const std::string& name, const Json& offsets) {
    const bool pair = offsets.is_array() && offsets.size() == 2;
    const std::optional<std::int64_t> begin = pair ? natural(offsets[0]) : std::nullopt;
    const std::optional<std::int64_t> end = pair ? natural(offsets[1]) : std::nullopt;
    if (!begin || !end) {
      report_tensor(
          name, "data_offsets must be two whole numbers from 0 to 2^63 - 1, got " + shown(offsets));
      return std::nullopt;
    }
    if (*begin > *end) {
      report_tensor(name, "data_offsets " + shown(offsets) + " end before they begin");
      return std::nullopt;
    }
    if (*end > static_cast<std::int64_t>(data_.size())) {
      report_tensor(name, "data_offsets " + shown(offsets) + " reach past the end of the data (" +
                              std::to_string(data_.size()) + " bytes)");
      return std::nullopt;
    }
    return Extent{.begin = *begin, .end = *end};
  }

  // Nothing when the product does not fit.
  static std::optional<std::int64_t> bytes_of(const Tensor& tensor) {
    std::int64_t bytes = element_bytes(tensor.type);
    for (const std::int64_t extent : tensor.shape) {
      if (extent == 0) return 0;
    }
    for (const std::int64_t extent : tensor.shape) {
      if (bytes > std::numeric_limits<std::int64_t>::max() / extent) return std::nullopt;
      bytes *= extent;
    }
    return bytes;
  }

  // Every byte of the data belongs to exactly one tensor.
  void check_cover() {
    std::sort(out_.tensors.begin(), out_.tensors.end(), [](const Tensor& a, const Tensor& b) {
      return std::tie(a.data, a.bytes) < std::tie(b.data, b.bytes);
    });
    std::int64_t covered = 0;
    std::string last = "the header";
    for (const Tensor& tensor : out_.tensors) {
      const std::int64_t begin = tensor.data - data_.data();
      if (begin < covered) {
        out_.problems.push_back({.where = where_ + ": " + tensor.name,
                                 .what = "its bytes overlap those of " + last,
                                 .mend = kWriteAgain});
      }
      if (begin > covered && all_extents_known_) {
        report(std::to_string(begin - covered) + " bytes between " + last + " and " + tensor.name +
                   " belong to no tensor",
               kWriteAgain);
      }
      if (begin + tensor.bytes > covered) {
        covered = begin + tensor.bytes;
        last = tensor.name;
      }
    }
    const std::int64_t trailing = static_cast<std::int64_t>(data_.size()) - covered;
    if (trailing > 0 && all_extents_known_) {
      report(std::to_string(trailing) + " bytes after " + last + " belong to no tensor",
             kCopyAgain);
    }
  }

  std::span<const std::uint8_t> file_;
  std::span<const std::uint8_t> data_;
  std::string where_;
  SafetensorsHeader out_;
  bool all_extents_known_ = true;  // else a gap may belong to a tensor that was refused
};

}  // namespace

SafetensorsHeader read_safetensors_header(std::span<const std::uint8_t> file,
                                          const std::string& where) {
  return HeaderReader(file, where).read();
}

}  // namespace deepinfer::engine
