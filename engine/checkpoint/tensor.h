// A tensor of a checkpoint file: its stored type, its shape, where its bytes lie.
//
// Lifetime: `data` points into the mapping of the Checkpoint it came from.
// Threads:  a plain value.
// Source:   the safetensors format; spec/model.md 3
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::engine {

// The stored types of the released format. kI8 holds packed E2M1 pairs.
enum class StoredType : std::uint8_t { kBf16, kF32, kF8E4m3, kF8E8m0, kI8 };

[[nodiscard]] std::int64_t element_bytes(StoredType type);
// As written in a safetensors header: BF16, F32, F8_E4M3, F8_E8M0, I8.
[[nodiscard]] std::string_view name_of(StoredType type);

struct Tensor {
  std::string name;
  StoredType type = StoredType::kBf16;
  std::vector<std::int64_t> shape;  // stored extents: packed FP4 counts bytes
  const std::uint8_t* data = nullptr;
  std::int64_t bytes = 0;
};

}  // namespace deepinfer::engine
