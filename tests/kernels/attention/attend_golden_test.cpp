// attend_reference and attend_cpu against the official sparse attention: sparse_attn_a, _b, _c and
// sparse_attn_real; window_span against the official window lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/attention/attend.h"
#include "tests/kernels/kernel_data.h"
#include "tests/support/golden_file.h"

namespace deepinfer::kernels {
namespace {

using Attend = void (*)(const AttendArgs&);

void attend_fast(const AttendArgs& args) {
  AttendWorkspace workspace;
  attend_cpu(args, workspace);
}

// The outputs of every query of a golden, through `attend`.
std::vector<Bf16> run(const deepinfer::test::GoldenFile& golden, const std::string& name,
                      Attend attend) {
  const std::vector<std::int64_t>& shape = golden.shape(name + ".q");  // batch, rows, heads, n
  const std::int64_t slots = golden.shape(name + ".idx")[2];
  const std::int64_t kv_rows = golden.shape(name + ".kv")[1];
  const std::vector<Bf16> q = golden.bf16(name + ".q");
  const std::vector<float> kv = golden.floats(name + ".kv");
  const std::vector<std::int64_t> idx = golden.integers(name + ".idx");
  const std::vector<float> sink = golden.floats(name + ".sink");
  const std::int64_t heads = shape[2];
  const std::int64_t n = shape[3];

  std::vector<Bf16> out(q.size());
  std::vector<float> keys(static_cast<std::size_t>(slots * n));
  std::vector<std::uint8_t> present(static_cast<std::size_t>(slots));
  for (std::int64_t query = 0; query < shape[0] * shape[1]; ++query) {
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      const std::int64_t index = idx[static_cast<std::size_t>(query * slots + slot)];
      present[static_cast<std::size_t>(slot)] = index >= 0 ? 1 : 0;
      if (index < 0) continue;
      const float* key = kv.data() + (query / shape[1] * kv_rows + index) * n;
      std::copy(key, key + n, keys.begin() + slot * n);
    }
    attend({.keys = keys.data(),
            .key_stride = n,
            .present = present.data(),
            .slots = slots,
            .q = View<const Bf16, 2>(q.data() + query * heads * n, heads, n),
            .out = View<Bf16, 2>(out.data() + query * heads * n, heads, n),
            .sink = sink.data(),
            .scale = golden.floats(name + ".scale")[0]});
  }
  return out;
}

void expect_golden(const std::string& file, const std::string& name) {
  const deepinfer::test::GoldenFile golden(deepinfer::test::data_path("golden/" + file));
  const std::vector<float> expected = golden.floats(name + ".out");

  test::expect_close(run(golden, name, &attend_reference), expected,
                     {.ulps = 1.0F, .absolute = 2e-4F});
  test::expect_close(run(golden, name, &attend_fast), expected, {.ulps = 1.0F, .absolute = 2e-4F});
}

TEST(AttendGolden, SparseAttnAHasRepeatsGapsAndARowWithoutKeys) {
  expect_golden("units.safetensors", "sparse_attn_a");
}

TEST(AttendGolden, SparseAttnBHasThreeBlocksOneOfThemEmpty) {
  expect_golden("units.safetensors", "sparse_attn_b");
}

TEST(AttendGolden, SparseAttnCHasOneKey) { expect_golden("units.safetensors", "sparse_attn_c"); }

TEST(AttendGolden, SparseAttnRealHasTheReleasedShape) {
  expect_golden("real_shapes.safetensors", "sparse_attn_real");
}

TEST(AttendGolden, SparseAttnRealIsNearTheUnroundedSoftmax) {
  const deepinfer::test::GoldenFile golden(
      deepinfer::test::data_path("golden/real_shapes.safetensors"));

  test::expect_close(run(golden, "sparse_attn_real", &attend_fast),
                     golden.floats("sparse_attn_real.exact"), {.absolute = 3.8e-3F});
}

// A golden's row without the unused slots.
std::vector<std::int64_t> used(std::vector<std::int64_t> row) {
  row.erase(std::remove(row.begin(), row.end(), -1), row.end());
  return row;
}

std::vector<std::int64_t> span_slots(std::int64_t position, std::int64_t slots) {
  const WindowSpan span = window_span({.position = position}, /*window=*/16);
  std::vector<std::int64_t> oldest_first;
  for (std::int64_t i = 0; i < span.count; ++i) oldest_first.push_back((span.first + i) % slots);
  return oldest_first;
}

TEST(WindowSpanGolden, WindowIdxPrefillListsThePositionsOfEveryQuery) {
  const deepinfer::test::GoldenFile golden(deepinfer::test::data_path("golden/units.safetensors"));
  for (const std::string name : {"s5", "s16", "s40"}) {
    const std::string tensor = "window_idx_prefill_w16_" + name;
    const std::vector<std::int64_t> idx = golden.integers(tensor);
    const std::int64_t slots = golden.shape(tensor)[1];
    for (std::int64_t position = 0; position < golden.shape(tensor)[0]; ++position) {
      const auto row = idx.begin() + position * slots;
      EXPECT_EQ(span_slots(position, 1 << 20), used({row, row + slots})) << tensor;
    }
  }
}

TEST(WindowSpanGolden, WindowIdxStepListsTheRingSlotsOfOneQuery) {
  const deepinfer::test::GoldenFile golden(deepinfer::test::data_path("golden/units.safetensors"));
  for (const std::int64_t position : {1, 14, 15, 16, 37}) {
    const std::string tensor = "window_idx_step_w16_p" + std::to_string(position);
    EXPECT_EQ(span_slots(position, 16), used(golden.integers(tensor))) << tensor;
  }
}

}  // namespace
}  // namespace deepinfer::kernels
