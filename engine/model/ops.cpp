#include "engine/model/ops.h"

namespace deepinfer::engine {
namespace {

// A reference takes no workers: it runs on the caller's thread.
template <typename Args, Status (*Reference)(const Args&)>
Status on_caller(const Args& args, [[maybe_unused]] kernels::Workers& workers) {
  return Reference(args);
}

Status experts_on_caller(const kernels::ExpertsArgs& args,
                         [[maybe_unused]] kernels::Workers& workers,
                         [[maybe_unused]] kernels::Scratch& scratch) {
  return kernels::experts_reference(args);
}

}  // namespace

Ops fast_ops() {
  return {.quantize = kernels::quantize_activations_cpu,
          .linear = kernels::linear_cpu,
          .rms_norm = kernels::rms_norm_cpu,
          .rotate = kernels::rotate_cpu,
          .pack = kernels::pack_cpu,
          .unpack_row = kernels::unpack_row_cpu,
          .sparse_attention = kernels::sparse_attention_cpu,
          .select_latents = kernels::select_latents_cpu,
          .pool = kernels::pool_cpu,
          .mix = kernels::mix_cpu,
          .collapse = kernels::collapse_cpu,
          .stream_update = kernels::stream_update_cpu,
          .route = kernels::route_cpu,
          .experts = kernels::experts_cpu,
          .engram_gather = kernels::engram_gather_cpu,
          .engram_gate = kernels::engram_gate_cpu};
}

Ops reference_ops() {
  namespace k = kernels;
  return {.quantize = on_caller<k::ActivationArgs, k::quantize_activations_reference>,
          .linear = on_caller<k::LinearArgs, k::linear_reference>,
          .rms_norm = on_caller<k::RmsNormArgs, k::rms_norm_reference>,
          .rotate = on_caller<k::RotateArgs, k::rotate_reference>,
          .pack = k::pack_reference,
          .unpack_row = k::unpack_row_reference,
          .sparse_attention = on_caller<k::SparseAttentionArgs, k::sparse_attention_reference>,
          .select_latents = on_caller<k::SelectLatentsArgs, k::select_latents_reference>,
          .pool = on_caller<k::PoolArgs, k::pool_reference>,
          .mix = on_caller<k::MixArgs, k::mix_reference>,
          .collapse = on_caller<k::CollapseArgs, k::collapse_reference>,
          .stream_update = on_caller<k::StreamUpdateArgs, k::stream_update_reference>,
          .route = on_caller<k::RouteArgs, k::route_reference>,
          .experts = experts_on_caller,
          .engram_gather = on_caller<k::EngramGatherArgs, k::engram_gather_reference>,
          .engram_gate = on_caller<k::EngramGateArgs, k::engram_gate_reference>};
}

}  // namespace deepinfer::engine
