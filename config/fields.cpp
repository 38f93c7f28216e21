#include "config/fields.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <sys/un.h>

#include "config/accounts.h"
#include "config/values.h"
#include "config/words.h"

namespace deepinfer::config {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000;
// A ring of completions has four entries for each submission, and 65536 at most.
constexpr std::int64_t kMostRingEntries = 65536 / 4;
constexpr std::int64_t kPageBytes = 4096;
constexpr std::size_t kMostSocketPath = sizeof(sockaddr_un::sun_path) - 1;  // and its NUL

constexpr std::array kFields{
    Field{"model.path", [](Options& o) -> FieldRef { return &o.model.path; }},
    Field{"model.max_context", [](Options& o) -> FieldRef { return &o.model.max_context; }, 0,
          kMostTokens},
    Field{"engine.backend", [](Options& o) -> FieldRef { return &o.engine.backend; }},
    Field{"engine.threads", [](Options& o) -> FieldRef { return &o.engine.threads; }, 0, 1024},
    Field{"engine.max_sequences", [](Options& o) -> FieldRef { return &o.engine.max_sequences; }, 1,
          65536},
    Field{"engine.max_batch_tokens",
          [](Options& o) -> FieldRef { return &o.engine.max_batch_tokens; }, 1, kMostTokens},
    Field{"engine.prefill_chunk", [](Options& o) -> FieldRef { return &o.engine.prefill_chunk; }, 1,
          kMostTokens},
    Field{"sampling.logprobs_mode",
          [](Options& o) -> FieldRef { return &o.sampling.logprobs_mode; }},
    Field{"ipc.socket", [](Options& o) -> FieldRef { return &o.ipc.socket; }, 0, 0,
          Shape::kSocketPath},
    Field{"ipc.ring_entries", [](Options& o) -> FieldRef { return &o.ipc.ring_entries; }, 2,
          kMostRingEntries, Shape::kPowerOfTwo},
    Field{"ipc.arena_bytes", [](Options& o) -> FieldRef { return &o.ipc.arena_bytes; },
          std::int64_t{64} << 10, std::int64_t{64} << 30, Shape::kWholePages},
    Field{"ipc.max_clients", [](Options& o) -> FieldRef { return &o.ipc.max_clients; }, 1, 65536},
    Field{"ipc.allowed_uids", [](Options& o) -> FieldRef { return &o.ipc.allowed_uids; }},
    Field{"ipc.allowed_gids", [](Options& o) -> FieldRef { return &o.ipc.allowed_gids; }},
    Field{"ipc.socket_mode", [](Options& o) -> FieldRef { return &o.ipc.socket_mode; }},
    Field{"jobs.max_queued", [](Options& o) -> FieldRef { return &o.jobs.max_queued; }, 1,
          kMostTokens},
    Field{"drain.grace", [](Options& o) -> FieldRef { return &o.drain.grace; }},
    Field{"log.level", [](Options& o) -> FieldRef { return &o.log.level; }},
    Field{"log.format", [](Options& o) -> FieldRef { return &o.log.format; }},
    Field{"log.file", [](Options& o) -> FieldRef { return &o.log.file; }},
};

Error expected(const std::string& what, const std::string& got) {
  return fail(ErrorCode::kInvalidArgument, "expected " + what + ", got " + got);
}

Result<std::int64_t> number_in(const Field& field, const std::string& text) {
  DEEPINFER_TRY(const std::int64_t value, parse_integer(text));
  if (value < field.least || value > field.most) {
    return expected(std::to_string(field.least) + " to " + std::to_string(field.most), text);
  }
  const auto bits = static_cast<std::uint64_t>(value);
  if (field.shape == Shape::kPowerOfTwo && (bits & (bits - 1)) != 0) {
    return expected("a power of two", text);
  }
  if (field.shape == Shape::kWholePages && value % kPageBytes != 0) {
    return expected("whole pages of " + std::to_string(kPageBytes) + " bytes", text);
  }
  return value;
}

// Writes `text` into the member that it is called with.
struct Writer {
  const Field& field;
  const Setting& setting;
  const std::string& text;

  Status operator()(std::int64_t* value) const {
    DEEPINFER_TRY(*value, number_in(field, text));
    return Done{};
  }
  Status operator()(std::optional<std::int64_t>* value) const {
    DEEPINFER_TRY(*value, number_in(field, text));
    return Done{};
  }
  Status operator()(std::uint32_t* mode) const {
    DEEPINFER_TRY(*mode, parse_mode(text));
    return Done{};
  }
  Status operator()(std::string* value) const {
    if (field.shape == Shape::kSocketPath && text.size() > kMostSocketPath) {
      return expected("a path of at most " + std::to_string(kMostSocketPath) + " bytes",
                      std::to_string(text.size()));
    }
    *value = text;
    return Done{};
  }
  Status operator()(std::vector<std::uint32_t>* ids) const {
    DEEPINFER_TRY(const auto items, split_list(text));
    std::vector<std::uint32_t> found;
    for (const std::string_view item : items) {
      DEEPINFER_TRY(const std::uint32_t id,
                    setting.kind == ValueKind::kUsers ? user_id(item) : group_id(item));
      found.push_back(id);
    }
    *ids = std::move(found);
    return Done{};
  }
  Status operator()(std::chrono::milliseconds* time) const {
    DEEPINFER_TRY(const std::int64_t count, parse_integer(text));
    *time = std::chrono::milliseconds(count);
    return Done{};
  }
  template <typename Enum>
  requires std::is_enum_v<Enum> Status operator()(Enum* value) const {
    *value = static_cast<Enum>(index_of_word(setting.words, text).value_or(0));
    return Done{};
  }
};

}  // namespace

std::span<const Field> fields() { return kFields; }

const Field* field_of(std::string_view key) {
  const auto* found = std::find_if(kFields.begin(), kFields.end(),
                                   [key](const Field& field) { return field.key == key; });
  return found == kFields.end() ? nullptr : &*found;
}

Status set_field(const Field& field, const Setting& setting, const std::string& text,
                 Options& options) {
  return std::visit(Writer{field, setting, text}, field.in(options));
}

}  // namespace deepinfer::config
