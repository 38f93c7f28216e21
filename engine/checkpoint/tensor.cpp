#include "engine/checkpoint/tensor.h"

namespace deepinfer::engine {

std::int64_t element_bytes(StoredType type) {
  switch (type) {
    case StoredType::kF32:
      return 4;
    case StoredType::kBf16:
      return 2;
    case StoredType::kF8E4m3:
    case StoredType::kF8E8m0:
    case StoredType::kI8:
      break;
  }
  return 1;
}

std::string_view name_of(StoredType type) {
  switch (type) {
    case StoredType::kBf16:
      return "BF16";
    case StoredType::kF32:
      return "F32";
    case StoredType::kF8E4m3:
      return "F8_E4M3";
    case StoredType::kF8E8m0:
      return "F8_E8M0";
    case StoredType::kI8:
      break;
  }
  return "I8";
}

}  // namespace deepinfer::engine
