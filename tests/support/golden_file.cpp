#include "tests/support/golden_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace deepinfer::test {

std::filesystem::path data_path(const std::string& name) {
  return std::filesystem::path(DEEPINFER_SOURCE_DIR) / "tests" / "data" / name;
}

std::filesystem::path model_path(const std::string& name) {
  return std::filesystem::path(DEEPINFER_SOURCE_DIR) / "examples" / "models" / name;
}

GoldenFile::GoldenFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path.string());
  std::uint64_t header_bytes = 0;
  in.read(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
  std::string header(header_bytes, '\0');
  in.read(header.data(), static_cast<std::streamsize>(header.size()));
  data_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  const auto parsed = nlohmann::json::parse(header);
  for (const auto& [name, value] : parsed.items()) {
    if (name == "__metadata__") continue;
    entries_[name] = Entry{.dtype = value["dtype"],
                           .shape = value["shape"],
                           .begin = value["data_offsets"][0],
                           .end = value["data_offsets"][1]};
  }
}

std::vector<std::string> GoldenFile::names() const {
  std::vector<std::string> names;
  for (const auto& item : entries_) names.push_back(item.first);
  return names;
}

const std::vector<std::int64_t>& GoldenFile::shape(const std::string& name) const {
  return entry(name).shape;
}

const std::string& GoldenFile::dtype(const std::string& name) const { return entry(name).dtype; }

const GoldenFile::Entry& GoldenFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw std::runtime_error("no golden tensor " + name);
  return found->second;
}

template <typename Stored, typename Out>
std::vector<Out> GoldenFile::convert(const Entry& entry) const {
  std::vector<Stored> stored((entry.end - entry.begin) / sizeof(Stored));
  std::memcpy(stored.data(), data_.data() + entry.begin, stored.size() * sizeof(Stored));
  std::vector<Out> out;
  out.reserve(stored.size());
  for (const Stored value : stored) {
    if constexpr (std::is_same_v<Stored, kernels::Bf16>) {
      out.push_back(static_cast<Out>(kernels::to_float(value)));
    } else {
      out.push_back(static_cast<Out>(value));
    }
  }
  return out;
}

std::vector<double> GoldenFile::doubles(const std::string& name) const {
  const Entry& found = entry(name);
  if (found.dtype == "BF16") return convert<kernels::Bf16, double>(found);
  if (found.dtype == "F32") return convert<float, double>(found);
  if (found.dtype == "F64") return convert<double, double>(found);
  throw std::runtime_error(name + " is " + found.dtype);
}

std::vector<float> GoldenFile::floats(const std::string& name) const {
  const std::vector<double> wide = doubles(name);
  return {wide.begin(), wide.end()};
}

std::vector<kernels::Bf16> GoldenFile::bf16(const std::string& name) const {
  const Entry& found = entry(name);
  if (found.dtype != "BF16") throw std::runtime_error(name + " is " + found.dtype);
  std::vector<kernels::Bf16> values((found.end - found.begin) / sizeof(kernels::Bf16));
  std::memcpy(values.data(), data_.data() + found.begin, found.end - found.begin);
  return values;
}

std::vector<std::int64_t> GoldenFile::integers(const std::string& name) const {
  const Entry& found = entry(name);
  if (found.dtype == "I32") return convert<std::int32_t, std::int64_t>(found);
  if (found.dtype == "I64") return convert<std::int64_t, std::int64_t>(found);
  if (found.dtype == "BOOL") return convert<std::uint8_t, std::int64_t>(found);
  throw std::runtime_error(name + " is " + found.dtype);
}

std::vector<std::uint8_t> GoldenFile::bytes(const std::string& name) const {
  const Entry& found = entry(name);
  return {data_.begin() + static_cast<std::ptrdiff_t>(found.begin),
          data_.begin() + static_cast<std::ptrdiff_t>(found.end)};
}

}  // namespace deepinfer::test
