#include "engine/model_cli/verify_numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace deepinfer::engine::cli {
namespace {

constexpr std::int64_t kBlockBytes = 4 << 20;

// How many elements of a block are no numbers. Simple loops without exits, for the vectoriser.
template <typename Element, typename IsBad>
std::int64_t count_bad(std::span<const std::uint8_t> block, const IsBad& is_bad) {
  std::int64_t count = 0;
  for (std::size_t at = 0; at < block.size(); at += sizeof(Element)) {
    Element element = 0;
    std::memcpy(&element, block.data() + at, sizeof(element));
    count += is_bad(element) ? 1 : 0;
  }
  return count;
}

bool is_bad_e8m0(std::uint8_t byte) { return byte == 0xffU; }
bool is_bad_e4m3(std::uint8_t byte) { return (byte & 0x7fU) == 0x7fU; }
// All bits of the exponent: infinity or NaN.
bool is_bad_bf16(std::uint16_t bits) { return (bits & 0x7f80U) == 0x7f80U; }
bool is_bad_f32(std::uint32_t bits) { return (bits & 0x7f800000U) == 0x7f800000U; }

std::int64_t count_bad(StoredType type, std::span<const std::uint8_t> block) {
  switch (type) {
    case StoredType::kF8E8m0:
      return count_bad<std::uint8_t>(block, is_bad_e8m0);
    case StoredType::kF8E4m3:
      return count_bad<std::uint8_t>(block, is_bad_e4m3);
    case StoredType::kBf16:
      return count_bad<std::uint16_t>(block, is_bad_bf16);
    case StoredType::kF32:
      return count_bad<std::uint32_t>(block, is_bad_f32);
    case StoredType::kI8:
      break;  // every pair of nibbles is a pair of numbers
  }
  return 0;
}

std::int64_t first_bad(StoredType type, std::span<const std::uint8_t> block) {
  const auto step = static_cast<std::size_t>(element_bytes(type));
  std::size_t at = 0;
  while (count_bad(type, block.subspan(at, step)) == 0) at += step;
  return static_cast<std::int64_t>(at / step);
}

const char* name_of_bad(StoredType type) {
  const bool has_infinity = type == StoredType::kBf16 || type == StoredType::kF32;
  return has_infinity ? "NaN or infinite" : "NaN";
}

struct Scan {
  std::int64_t bad = 0;
  std::int64_t first = -1;  // element
  bool stopped = false;
};

// `done` counts bytes across tensors.
Scan scan(const Tensor& tensor, std::int64_t& done,
          const std::function<bool(std::int64_t)>& progress) {
  Scan found;
  for (std::int64_t at = 0; at < tensor.bytes && !found.stopped; at += kBlockBytes) {
    const std::int64_t size = std::min(kBlockBytes, tensor.bytes - at);
    const std::span block(tensor.data + at, static_cast<std::size_t>(size));
    const std::int64_t count = count_bad(tensor.type, block);
    if (count > 0 && found.bad == 0) {
      found.first = at / element_bytes(tensor.type) + first_bad(tensor.type, block);
    }
    found.bad += count;
    done += size;
    found.stopped = !progress(done);
  }
  return found;
}

Problem problem_of(const Shard& shard, const Tensor& tensor, const Scan& found) {
  return {.where = shard.file + ": " + tensor.name,
          .what = std::to_string(found.bad) + " of " +
                  std::to_string(tensor.bytes / element_bytes(tensor.type)) + " " +
                  std::string(name_of(tensor.type)) + " numbers are " + name_of_bad(tensor.type) +
                  ", the first is element " + std::to_string(found.first),
          .mend = "download the file again, or ask whoever wrote it"};
}

}  // namespace

Problems check_numbers(const ShardSet& set, const std::function<bool(std::int64_t)>& progress) {
  Problems problems;
  std::int64_t done = 0;
  for (const Shard& shard : set.shards) {
    for (const Tensor& tensor : shard.tensors) {
      const Scan found = scan(tensor, done, progress);
      if (found.bad > 0) problems.push_back(problem_of(shard, tensor, found));
      if (found.stopped) return problems;
    }
  }
  return problems;
}

}  // namespace deepinfer::engine::cli
