// Shared memory without a name: a memfd, its seals, and a mapping of it.
//
// Units:    bytes
// Threads:  confined to one thread; the mapped bytes are as ipc/layout.h says
// Lifetime: a Mapping needs neither its MemoryFile nor its descriptor
// Errors:   kResourceExhausted no memory or descriptor; kInvalidArgument a descriptor that is not what
//           was promised (size, seals)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace deepinfer::ipc {

enum class Access : std::uint8_t { kRead, kReadWrite };

// A descriptor's memory in this process, unmapped when it goes. Not inherited by fork (MADV_DONTFORK) and
// not in core dumps (MADV_DONTDUMP).
class Mapping {
 public:
  [[nodiscard]] static Result<Mapping> map(int descriptor, std::uint64_t bytes, Access access);
  Mapping(Mapping&&) noexcept;
  Mapping& operator=(Mapping&&) noexcept;
  ~Mapping();

  [[nodiscard]] std::byte* data() const;  // only to be written through when mapped kReadWrite
  [[nodiscard]] std::uint64_t size_bytes() const;

 private:
  struct Region;
  explicit Mapping(std::unique_ptr<Region> region);
  std::unique_ptr<Region> region_;
};

// Whether the peer may write: with kOwnerOnly only mappings made before sealing can.
enum class Sealing : std::uint8_t { kBothWrite, kOwnerOnly };

// Zero-filled memory of a fixed size, lazily backed. `name` is for /proc only.
[[nodiscard]] Result<FileDescriptor> create_memory(const char* name, std::uint64_t bytes);
// No growing, shrinking or further sealing; with kOwnerOnly also no writing from now on.
[[nodiscard]] Status seal_memory(int descriptor, Sealing sealing);
// What a receiver checks before it maps: exact size, all seals of `sealing`.
[[nodiscard]] Status check_memory(int descriptor, std::uint64_t bytes, Sealing sealing);

}  // namespace deepinfer::ipc
