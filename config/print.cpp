#include "config/print.h"

#include <string_view>
#include <type_traits>
#include <variant>

#include "config/fields.h"
#include "config/settings.h"
#include "config/utf8.h"
#include "config/words.h"

namespace deepinfer::config {
namespace {

// A basic string of TOML. What a terminal would obey is escaped.
std::string toml_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (byte < 0x20 || byte == 0x7F) {
      out.append("\\u00").append({kHex[byte / 16U], kHex[byte % 16U]});
    } else {
      out += letter;
    }
  }
  return out + '"';
}

std::string size_text(std::int64_t bytes) {
  if (bytes > 0 && bytes % (1 << 30) == 0) return toml_string(std::to_string(bytes >> 30) + "GiB");
  if (bytes > 0 && bytes % (1 << 20) == 0) return toml_string(std::to_string(bytes >> 20) + "MiB");
  if (bytes > 0 && bytes % (1 << 10) == 0) return toml_string(std::to_string(bytes >> 10) + "KiB");
  return std::to_string(bytes);
}

// The member that it is called with, in TOML syntax.
struct Reader {
  const Setting& setting;

  std::string operator()(const std::int64_t* value) const {
    return setting.kind == ValueKind::kSize ? size_text(*value) : std::to_string(*value);
  }
  std::string operator()(const std::optional<std::int64_t>* value) const {
    return *value ? std::to_string(**value) : std::string();
  }
  std::string operator()(const std::uint32_t* mode) const {
    std::string digits;
    for (const unsigned shift : {9U, 6U, 3U, 0U}) {
      digits += static_cast<char>('0' + ((*mode >> shift) & 7U));
    }
    return toml_string(digits);
  }
  std::string operator()(const std::string* value) const { return toml_string(*value); }
  std::string operator()(const std::vector<std::uint32_t>* ids) const {
    std::string out;
    for (const std::uint32_t id : *ids) {
      if (!out.empty()) out += ", ";
      out += std::to_string(id);
    }
    return "[" + out + "]";
  }
  std::string operator()(const std::chrono::milliseconds* time) const {
    const std::int64_t count = time->count();
    const auto text = [count](std::int64_t unit, const char* name) {
      return toml_string(std::to_string(count / unit) + name);
    };
    if (count > 0 && count % 60'000 == 0) return text(60'000, "min");
    return count % 1000 == 0 ? text(1000, "s") : text(1, "ms");
  }
  template <typename Enum>
  requires std::is_enum_v<Enum> std::string operator()(const Enum* value) const {
    return toml_string(word_at(setting.words, static_cast<std::size_t>(*value)));
  }
};

// What stands behind the value: where it comes from, on one line that a TOML file may have.
std::string comment_of(const Loaded& loaded, std::string_view key) {
  const auto found = loaded.origins.find(key);
  std::string origin = found == loaded.origins.end() ? "default" : found->second;
  const bool is_text = is_utf8(origin);
  for (char& letter : origin) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !is_text)) letter = '?';
  }
  return origin;
}

std::string_view section_of(std::string_view key) { return key.substr(0, key.find('.')); }

}  // namespace

std::string to_toml(const Loaded& loaded) {
  Options options = loaded.options;  // a field's place is that of something that can be written
  std::string out;
  std::string_view section;
  for (const Field& field : fields()) {
    if (section != section_of(field.key)) {
      section = section_of(field.key);
      out.append(out.empty() ? "[" : "\n[").append(section).append("]\n");
    }
    const std::string_view name = field.key.substr(section.size() + 1);
    const Setting& setting = *setting_of_key(field.key);
    std::string value = std::visit(Reader{setting}, field.in(options));
    // Setting what was computed would give other Options: it is shown, but not set.
    if (value.empty()) {
      value = std::to_string(max_batch_tokens(options.engine));
      out += "# ";
    }
    out.append(name).append(" = ").append(value);
    out.append("  # ").append(comment_of(loaded, field.key)).append("\n");
  }
  return out;
}

}  // namespace deepinfer::config
