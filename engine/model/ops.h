// The operations of a step as one table: the fast CPU path, or the readable reference of each.
//
// The forward pass calls operations through this table only, so both run the same list of calls.
//
// Threads:  a plain value; the functions themselves are pure
#pragma once

#include "base/result.h"
#include "kernels/attention/sparse_attention.h"
#include "kernels/compress/pool.h"
#include "kernels/engram/engram.h"
#include "kernels/gemm/linear.h"
#include "kernels/index/select_latents.h"
#include "kernels/mix/hyper_connection.h"
#include "kernels/moe/experts.h"
#include "kernels/moe/router.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/quant/activations.h"
#include "kernels/quant/cache_formats.h"
#include "kernels/rope/rope.h"
#include "kernels/scratch.h"
#include "kernels/workers.h"

namespace deepinfer::engine {

struct Ops {
  template <typename Args>
  using Call = Status (*)(const Args&, kernels::Workers&);

  Call<kernels::ActivationArgs> quantize;
  Call<kernels::LinearArgs> linear;
  Call<kernels::RmsNormArgs> rms_norm;
  Call<kernels::RotateArgs> rotate;
  Status (*pack)(const kernels::PackArgs&);
  void (*unpack_row)(const kernels::UnpackRow&);
  Call<kernels::SparseAttentionArgs> sparse_attention;
  Call<kernels::SelectLatentsArgs> select_latents;
  Call<kernels::PoolArgs> pool;
  Call<kernels::MixArgs> mix;
  Call<kernels::CollapseArgs> collapse;
  Call<kernels::StreamUpdateArgs> stream_update;
  Call<kernels::RouteArgs> route;
  Status (*experts)(const kernels::ExpertsArgs&, kernels::Workers&, kernels::Scratch&);
  Call<kernels::EngramGatherArgs> engram_gather;
  Call<kernels::EngramGateArgs> engram_gate;
};

[[nodiscard]] Ops fast_ops();
[[nodiscard]] Ops reference_ops();

}  // namespace deepinfer::engine
