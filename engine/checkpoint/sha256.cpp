#include "engine/checkpoint/sha256.h"

#include <array>
#include <cstddef>

#include <openssl/evp.h>

namespace deepinfer::engine {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool sound = context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() { EVP_MD_CTX_free(state_->context); }

void Sha256::update(std::span<const std::uint8_t> bytes) {
  state_->sound =
      state_->sound && EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1;
}

std::string Sha256::finish() {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest = {};
  unsigned size = 0;
  if (!state_->sound || EVP_DigestFinal_ex(state_->context, digest.data(), &size) != 1) return {};
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4U];
    text += kDigits[digest[i] & 15U];
  }
  return text;
}

}  // namespace deepinfer::engine
