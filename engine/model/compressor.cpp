#include "engine/model/compressor.h"

#include <cstring>
#include <vector>

namespace deepinfer::engine {
namespace {

using kernels::Bf16;
using kernels::CacheFormat;

// One latent that this step completes, and where its entry goes.
struct NewLatent {
  const SequenceSlice* slice;
  std::int64_t entry;  // j: its number in the sequence
  std::int64_t row;    // the row of the token that completes it
};

std::vector<NewLatent> completed_latents(const StepRows& rows, std::int64_t ratio) {
  std::vector<NewLatent> latents;
  std::int64_t row = 0;
  for (const SequenceSlice& slice : rows.slices) {
    for (std::int64_t i = 0; i < slice.count(); ++i, ++row) {
      const std::int64_t next = slice.begin + i + 1;
      if (next % ratio == 0) latents.push_back({&slice, next / ratio - 1, row});
    }
  }
  return latents;
}

// Rows of the open-group ring of one sequence: fp32 [score n, kv n] for each.
struct OpenRing {
  float* rows;
  std::int64_t n;
  std::int64_t count;

  [[nodiscard]] float* score(std::int64_t position) const {
    return rows + position % count * 2 * n;
  }
  [[nodiscard]] float* kv(std::int64_t position) const { return score(position) + n; }
};

class Pooling {
 public:
  Pooling(const StepTools& tools, const SourceLayout& source, const Rows<float>& kv,
          const Rows<float>& score)
      : tools_(tools), source_(source), kv_(kv), score_(score) {}

  [[nodiscard]] Result<Rows<Bf16>> pool(const std::vector<NewLatent>& latents) const {
    auto* groups =
        tools_.scratch.take<kernels::PoolGroup>(static_cast<std::int64_t>(latents.size()));
    for (std::size_t i = 0; i < latents.size(); ++i) groups[i] = group_of(latents[i]);
    const Rows<Bf16> pooled =
        take_rows<Bf16>(tools_, static_cast<std::int64_t>(latents.size()), tools_.shape.head_dim);
    DEEPINFER_TRY([[maybe_unused]] const Done done,
                  tools_.ops.pool({.groups = groups, .pooled = pooled.view()}, tools_.workers));
    return pooled;
  }

  // Keeps the last rows of every slice for the steps to come.
  void keep_rows(std::span<const SequenceSlice> slices) const {
    const auto bytes = static_cast<std::size_t>(kv_.cols) * sizeof(float);
    std::int64_t row = 0;
    for (const SequenceSlice& slice : slices) {
      const OpenRing ring = ring_of(slice);
      for (std::int64_t i = 0; i < slice.count(); ++i, ++row) {
        if (slice.count() - i > ring.count) continue;
        std::memcpy(ring.kv(slice.begin + i), kv_.data + row * kv_.cols, bytes);
        std::memcpy(ring.score(slice.begin + i), score_.data + row * kv_.cols, bytes);
      }
    }
  }

 private:
  [[nodiscard]] OpenRing ring_of(const SequenceSlice& slice) const {
    return {reinterpret_cast<float*>(slice.slot + source_.open_offset), kv_.cols,
            tools_.layout.open_rows};
  }

  [[nodiscard]] kernels::PoolGroup group_of(const NewLatent& latent) const {
    const std::int64_t first = latent.entry * source_.ratio;  // position of the first token
    const float* second_kv = kv_.data + latent.row * kv_.cols;
    const float* second_score = score_.data + latent.row * kv_.cols;
    if (first >= latent.slice->begin) {
      return {second_kv - kv_.cols, second_score - kv_.cols, second_kv, second_score};
    }
    const OpenRing ring = ring_of(*latent.slice);
    return {ring.kv(first), ring.score(first), second_kv, second_score};
  }

  const StepTools& tools_;
  const SourceLayout& source_;
  const Rows<float>& kv_;
  const Rows<float>& score_;
};

Result<Rows<Bf16>> make_latents(const StepTools& tools, const StepRows& rows,
                                const SourceLayout& source, const CompressorWeights& weights,
                                const Rows<float>& x) {
  if (!weights.wgate.has_value()) return multiply(tools, x, weights.wkv);
  DEEPINFER_TRY(const Rows<float> kv, multiply_f32(tools, x, weights.wkv));
  DEEPINFER_TRY(const Rows<float> score, multiply_f32(tools, x, *weights.wgate));
  const Pooling pooling(tools, source, kv, score);
  DEEPINFER_TRY(const Rows<Bf16> pooled, pooling.pool(completed_latents(rows, source.ratio)));
  pooling.keep_rows(rows.slices);
  return pooled;
}

// The RoPE rows of the latents: the position of each group's first token.
Result<RopeRows> latent_rope(const StepTools& tools, const std::vector<NewLatent>& latents,
                             std::int64_t ratio, const std::vector<float>& frequencies) {
  const auto count = static_cast<std::int64_t>(latents.size());
  const std::int64_t half = tools.shape.rope_dims / 2;
  auto* positions = tools.scratch.take<std::int64_t>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    positions[i] = latents[static_cast<std::size_t>(i)].entry * ratio;
  }
  const RopeRows rope{tools.scratch.take<float>(count * half),
                      tools.scratch.take<float>(count * half)};
  DEEPINFER_TRY(
      [[maybe_unused]] const Done done,
      kernels::rope_table({.positions = kernels::View<const std::int64_t, 1>(positions, count),
                           .frequencies = kernels::View<const float, 1>(frequencies.data(), half),
                           .cos = kernels::View<float, 2>(rope.cos, count, half),
                           .sin = kernels::View<float, 2>(rope.sin, count, half)}));
  return rope;
}

// A block's page of one source: where entry j of a sequence lies.
struct EntryPlace {
  std::uint8_t* block;
  std::int64_t slot;  // in the page
};

EntryPlace place_of(const NewLatent& latent, const SourceLayout& source) {
  const std::int64_t page = latent.entry / source.entries_per_page;
  return {latent.slice->blocks[static_cast<std::size_t>(page)],
          latent.entry % source.entries_per_page};
}

Status write_index_keys(const StepTools& tools, const SourceLayout& source,
                        const std::vector<NewLatent>& latents, const Rows<Bf16>& keys) {
  const CacheLayout& layout = tools.layout;
  const std::int64_t key_bytes = layout.index_codes + layout.index_scales;
  const auto packed = take_rows<std::uint8_t>(tools, keys.rows, key_bytes);
  DEEPINFER_TRY([[maybe_unused]] const Done done, tools.ops.pack({.format = CacheFormat::kFp4E8m0,
                                                                  .values = keys.read(),
                                                                  .packed = packed.view()}));
  for (std::int64_t i = 0; i < keys.rows; ++i) {
    const EntryPlace place = place_of(latents[static_cast<std::size_t>(i)], source);
    std::uint8_t* part = place.block + source.index_offset;
    const std::uint8_t* key = packed.data + i * key_bytes;
    std::memcpy(part + place.slot * layout.index_codes, key,
                static_cast<std::size_t>(layout.index_codes));
    std::memcpy(
        part + source.entries_per_page * layout.index_codes + place.slot * layout.index_scales,
        key + layout.index_codes, static_cast<std::size_t>(layout.index_scales));
  }
  return Done{};
}

Status write_entries(const StepTools& tools, const SourceLayout& source,
                     const std::vector<NewLatent>& latents, const Rows<Bf16>& entries) {
  const std::int64_t bytes = tools.layout.global_entry;
  const auto packed = take_rows<std::uint8_t>(tools, entries.rows, bytes);
  DEEPINFER_TRY([[maybe_unused]] const Done done, tools.ops.pack({.format = CacheFormat::kFp4E4m3,
                                                                  .values = entries.read(),
                                                                  .packed = packed.view()}));
  for (std::int64_t i = 0; i < entries.rows; ++i) {
    const EntryPlace place = place_of(latents[static_cast<std::size_t>(i)], source);
    std::memcpy(place.block + source.main_offset + place.slot * bytes, packed.data + i * bytes,
                static_cast<std::size_t>(bytes));
  }
  return Done{};
}

}  // namespace

Status write_global_entries(const StepTools& tools, const StepRows& rows, std::int64_t layer,
                            const LayerWeights& weights, const Rows<Bf16>& x) {
  const kernels::Scratch::Mark mark(tools.scratch);
  const CompressorWeights& compressor = *weights.compressor;
  const SourceLayout& source = tools.layout.source(layer);
  const std::vector<NewLatent> latents = completed_latents(rows, source.ratio);

  DEEPINFER_TRY(const Rows<float> wide, widen(tools, x));
  DEEPINFER_TRY(const Rows<Bf16> latent, make_latents(tools, rows, source, compressor, wide));
  if (latent.rows == 0) return Done{};
  DEEPINFER_TRY([[maybe_unused]] const Done normed,
                normalize(tools, latent, compressor.norm.view()));
  DEEPINFER_TRY(const RopeRows rope,
                latent_rope(tools, latents, source.ratio, *rows.compress_frequencies));

  DEEPINFER_TRY(const Rows<float> wide_latent, widen(tools, latent));
  DEEPINFER_TRY(const Rows<Bf16> keys, multiply(tools, wide_latent, compressor.index_wk));
  DEEPINFER_TRY([[maybe_unused]] const Done key_normed,
                normalize(tools, keys, compressor.index_k_norm.view()));
  DEEPINFER_TRY([[maybe_unused]] const Done key_rotated,
                rotate(tools, keys, 1, rope, kernels::RopeDirection::kForward));
  DEEPINFER_TRY([[maybe_unused]] const Done key_written,
                write_index_keys(tools, source, latents, keys));

  DEEPINFER_TRY([[maybe_unused]] const Done rotated,
                rotate(tools, latent, 1, rope, kernels::RopeDirection::kForward));
  return write_entries(tools, source, latents, latent);
}

}  // namespace deepinfer::engine
