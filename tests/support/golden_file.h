// Reads the golden .safetensors files of tests/data: whole tensors, widened to float or int64.
//
// Throws on a missing tensor or an unexpected dtype, which ends the test as failed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kernels/float_types.h"

namespace deepinfer::test {

// tests/data of the source tree, and examples/models.
[[nodiscard]] std::filesystem::path data_path(const std::string& name);
[[nodiscard]] std::filesystem::path model_path(const std::string& name);

class GoldenFile {
 public:
  explicit GoldenFile(const std::filesystem::path& path);

  [[nodiscard]] bool has(const std::string& name) const { return entries_.count(name) != 0; }
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const std::vector<std::int64_t>& shape(const std::string& name) const;
  [[nodiscard]] const std::string& dtype(const std::string& name) const;

  // BF16, F32 and F64, widened (F64 narrowed).
  [[nodiscard]] std::vector<float> floats(const std::string& name) const;
  [[nodiscard]] std::vector<double> doubles(const std::string& name) const;
  [[nodiscard]] std::vector<kernels::Bf16> bf16(const std::string& name) const;
  // I32, I64 and BOOL.
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name) const;
  // The raw bytes of any dtype: F8_E4M3, F8_E8M0, I8, U8.
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& name) const;

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::size_t begin = 0;  // bytes into data_
    std::size_t end = 0;
  };
  [[nodiscard]] const Entry& entry(const std::string& name) const;
  template <typename Stored, typename Out>
  [[nodiscard]] std::vector<Out> convert(const Entry& entry) const;

  std::map<std::string, Entry> entries_;
  std::vector<std::uint8_t> data_;
};

}  // namespace deepinfer::test
