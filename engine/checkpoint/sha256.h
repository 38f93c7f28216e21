// SHA-256 of bytes that come in pieces.
//
// Threads:  confined to one thread.
// Errors:   finish() is empty when the crypto library refuses (a build without SHA-256)
// Source:   FIPS 180-4, by OpenSSL
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace deepinfer::engine {

class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();

  void update(std::span<const std::uint8_t> bytes);
  // 64 lower-case hex digits; once.
  [[nodiscard]] std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace deepinfer::engine
