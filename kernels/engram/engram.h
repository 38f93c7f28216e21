// The n-gram memory: hashes of the last tokens, the rows they name, and the gate that adds a value.
//
//   hash:   spec 7.3, 64-bit integers; look-back stops at the sequence's start and at an image span
//   gather: y[h] = quantize_activations(bf16(E4M3(code) * E8M0(scale of its group of 32)))
//   gate:   d = sum_i h_c[i] q_weight[c][i] k_weight[c][i] key_c[i] * rh * rk / sqrt(hidden)
//           g = sigmoid(sign(d) sqrt(max(|d|, 1e-6))) (0 for a token of an image span)
//           h_c <- bf16(h_c + g * value)
//
// Shapes:   history [rows, orders] i32 compressed ids: column s is the token s places back, already
//           replaced by the pad id where the look-back is blocked; table rows [rows, (orders-1)*heads]
//           i64; y [rows, (orders-1) * heads * dim] f32; h [rows, copies, hidden] bf16;
//           kv [rows, (copies + 1) * hidden] bf16: keys of the copies, then the value
// Limits:   dim % 32 == 0; hidden % 16 == 0; rows of the table inside it
// Numerics: hash exact; gather exact; gate fp32, sums in the 16-partial-sum order of linear.h
// Batch:    row-pure. Threads: parallel over rows. Errors: kInvalidArgument when a limit is broken
// Source:   spec/model.md 5.5, 7
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/float_types.h"
#include "kernels/view.h"
#include "kernels/workers.h"

namespace deepinfer::kernels {

// The constants of one Engram layer.
struct EngramHash {
  std::int64_t orders = 4;  // look-backs 0 .. orders - 1; n-grams of 2 .. orders tokens
  std::int64_t heads = 8;
  std::vector<std::int64_t> multipliers;  // [orders]
  std::vector<std::int64_t> primes;       // [(orders - 1) * heads]
  std::vector<std::int64_t> offsets;      // [(orders - 1) * heads], rows

  [[nodiscard]] std::int64_t columns() const { return (orders - 1) * heads; }
};

// What the hash constants of a whole model follow from.
struct EngramHashSpec {
  std::vector<std::int64_t> layer_ids;  // ascending
  std::int64_t orders = 4;              // engram_max_ngram_size
  std::int64_t heads = 8;
  std::int64_t first_prime_after = 16000000;  // engram_vocab_size: primes are >= this
  std::int64_t compressed_vocabulary = 99092;
};

// Primes and multipliers of every layer (spec 7.2), in the order of layer_ids.
[[nodiscard]] std::vector<EngramHash> engram_hashes(const EngramHashSpec& spec);

struct EngramHashArgs {
  const EngramHash* hash = nullptr;
  View<const std::int32_t, 2> history;
  View<std::int64_t, 2> table_rows;
};
[[nodiscard]] Status engram_hash(const EngramHashArgs& args);

struct EngramTable {
  const std::uint8_t* codes = nullptr;   // [rows, dim] E4M3
  const std::uint8_t* scales = nullptr;  // [rows, dim / 32] E8M0
  std::int64_t rows = 0;
  std::int64_t dim = 0;
};

struct EngramGatherArgs {
  EngramTable table;
  View<const std::int64_t, 2> table_rows;
  View<float, 2> y;
};
[[nodiscard]] Status engram_gather_limits(const EngramGatherArgs& args);
[[nodiscard]] Status engram_gather_reference(const EngramGatherArgs& args);
[[nodiscard]] Status engram_gather_cpu(const EngramGatherArgs& args, Workers& workers);

struct EngramGateArgs {
  View<Bf16, 3> h;  // in place
  View<const Bf16, 2> kv;
  View<const Bf16, 2> q_weight;  // [copies, hidden]
  View<const Bf16, 2> k_weight;
  const std::uint8_t* closed = nullptr;  // [rows]: 1 closes the gate; null: all open
  float epsilon = 1e-20F;
};
[[nodiscard]] Status engram_gate_limits(const EngramGateArgs& args);
[[nodiscard]] Status engram_gate_reference(const EngramGateArgs& args);
[[nodiscard]] Status engram_gate_cpu(const EngramGateArgs& args, Workers& workers);

}  // namespace deepinfer::kernels
