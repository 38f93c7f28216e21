// The instruction sets that every Highway file of kernels/ is compiled for: AVX-512, AVX2 with fused
// multiply-add, and the portable baseline. Include it before any Highway header.
//
// The sets in between would add compile time and no machine that serves this model.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
