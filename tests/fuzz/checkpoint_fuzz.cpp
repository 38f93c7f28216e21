#include "tests/fuzz/checkpoint_fuzz.h"

#include <algorithm>
#include <span>
#include <string>

#include "engine/checkpoint/config_json.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/schema.h"

namespace deepinfer::test {
namespace {

using engine::Problem;
using engine::Problems;
using engine::Tensor;

bool all_say_something(const Problems& problems) {
  return std::all_of(problems.begin(), problems.end(), [](const Problem& problem) {
    return !problem.where.empty() && !problem.what.empty() && !problem.mend.empty();
  });
}

bool lies_inside(const Tensor& tensor, std::span<const std::uint8_t> file) {
  std::int64_t bytes = engine::element_bytes(tensor.type);
  for (const std::int64_t extent : tensor.shape) bytes *= extent;
  const std::int64_t begin = tensor.data - file.data();
  return bytes == tensor.bytes && begin >= 0 &&
         begin + bytes <= static_cast<std::int64_t>(file.size());
}

}  // namespace

bool header_is_handled(const std::uint8_t* data, std::size_t size) {
  const std::span file(data, size);
  const engine::SafetensorsHeader header = engine::read_safetensors_header(file, "fuzz");
  if (!header.readable && header.problems.empty()) return false;
  return all_say_something(header.problems) &&
         std::all_of(header.tensors.begin(), header.tensors.end(),
                     [&](const Tensor& tensor) { return lies_inside(tensor, file); });
}

bool config_is_handled(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const engine::ShapeOrProblems parsed = engine::parse_config(text, "fuzz");
  if (parsed.shape.has_value() != parsed.problems.empty()) return false;
  if (!all_say_something(parsed.problems)) return false;
  if (!parsed.shape) return true;
  for (const engine::TensorSpec& spec : engine::expected_tensors(*parsed.shape)) {
    if (spec.bytes() <= 0 || spec.shard <= 0) return false;
  }
  return true;
}

}  // namespace deepinfer::test
