// The header of one safetensors file -> its tensors, or everything that is wrong with it.
//
//   8 bytes length n, little-endian | n bytes JSON: name -> {dtype, shape, data_offsets} | data
//
// Accepted is what the format allows and the released model uses: extents that cover the data
// without gap or overlap, no name twice, the five stored types.
//
// Limits:   header up to 100 MB, as in the format
// Threads:  any thread.
// Lifetime: the tensors' `data` points into `file`.
// Errors:   problems, one for each thing found; tensors holds what is sound by itself
// Source:   https://github.com/huggingface/safetensors, README "Format"; spec/model.md 3
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/problem.h"
#include "engine/checkpoint/tensor.h"

namespace deepinfer::engine {

struct SafetensorsHeader {
  std::vector<Tensor> tensors;  // in the order of their bytes
  Problems problems;
  // False when the header as a whole could not be read: then nothing is known about its tensors.
  bool readable = false;
};

[[nodiscard]] SafetensorsHeader read_safetensors_header(std::span<const std::uint8_t> file,
                                                        const std::string& where);

}  // namespace deepinfer::engine
