// Runs a test body once for each instruction set that was compiled and that this machine has.
#pragma once

#include <cstdint>

#include "kernels/simd_targets.h"
//
#include <hwy/targets.h>

namespace deepinfer::test {

// body(target); Highway's own choice is back in force afterwards.
template <typename Body>
void for_each_highway_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    body(target);
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

[[nodiscard]] inline bool has_fused_multiply_add(std::int64_t target) {
  return target == HWY_AVX2 || target == HWY_AVX3;
}

}  // namespace deepinfer::test
