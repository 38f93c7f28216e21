#include "engine/checkpoint/folder_writer.h"

#include <algorithm>
#include <cstddef>
#include <system_error>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/output_file.h"

namespace deepinfer::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kChunkBytes = 4 << 20;
constexpr std::size_t kHeaderAlignment = 8;  // keeps the data aligned to every element

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The 8-byte length and the JSON header of a shard.
std::string header_of(const std::vector<OutputTensor>& tensors) {
  std::string text = R"({"__metadata__":{"format":"pt"})";  // what other loaders look for
  std::int64_t offset = 0;
  for (const OutputTensor& tensor : tensors) {
    const nlohmann::ordered_json entry = {{"dtype", std::string(name_of(tensor.type))},
                                          {"shape", tensor.shape},
                                          {"data_offsets", {offset, offset + tensor.bytes}}};
    text += "," + nlohmann::json(tensor.name).dump() + ":" + entry.dump();
    offset += tensor.bytes;
  }
  text += "}";
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  std::string length;
  for (std::size_t i = 0; i < 8; ++i) {
    length += static_cast<char>((std::uint64_t{text.size()} >> (8 * i)) & 255U);
  }
  return length + text;
}

}  // namespace

Result<std::unique_ptr<FolderWriter>> FolderWriter::create(const fs::path& folder,
                                                           Options options) {
  std::error_code error;
  fs::path target = folder.lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // a trailing slash
  if (fs::exists(target, error) &&
      !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    return fail(ErrorCode::kInvalidArgument,
                target.string() + " exists and is not an empty folder");
  }
  std::unique_ptr<FolderWriter> writer(new FolderWriter(std::move(target), std::move(options)));
  if (!fs::create_directory(writer->partial_, error)) {
    const std::string partial = writer->partial_.string();
    writer->committed_ = true;  // nothing of ours to remove
    return fail(ErrorCode::kInvalidArgument,
                error ? "cannot make " + partial + ": " + error.message()
                      : partial + " is there already, from a run that was interrupted");
  }
  return writer;
}

FolderWriter::FolderWriter(fs::path folder, Options options)
    : folder_(std::move(folder)),
      partial_(folder_.string() + ".partial"),
      options_(std::move(options)) {}

FolderWriter::~FolderWriter() {
  if (committed_) return;
  std::error_code ignored;  // a destructor has nobody to tell; the folder's name says what it is
  fs::remove_all(partial_, ignored);
}

Status FolderWriter::add_text(const std::string& file, std::string_view text) {
  DEEPINFER_TRY(const auto out, OutputFile::create(partial_ / file));
  DEEPINFER_TRY([[maybe_unused]] const Done written, out->write(bytes_of(text)));
  DEEPINFER_TRY(std::string digest, out->finish());
  sums_.emplace_back(file, std::move(digest));
  return Done{};
}

Status FolderWriter::add_shard(const std::string& file, const std::vector<OutputTensor>& tensors,
                               const Producer& producer) {
  // The producer knows tensors by their place in the caller's list.
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return element_bytes(tensors[a].type) > element_bytes(tensors[b].type);
  });
  std::vector<OutputTensor> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(tensors[i]);

  DEEPINFER_TRY(const auto out, OutputFile::create(partial_ / file));
  const std::string header = header_of(sorted);
  DEEPINFER_TRY([[maybe_unused]] const Done started, out->write(bytes_of(header)));
  auto size = static_cast<std::int64_t>(header.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    weight_map_.emplace_back(sorted[i].name, file);
    size += sorted[i].bytes;
    if (!options_.sparse) {
      DEEPINFER_TRY([[maybe_unused]] const Done written,
                    write_tensor(*out, sorted[i], order[i], producer));
    }
    total_bytes_ += sorted[i].bytes;
  }
  if (options_.sparse) {
    DEEPINFER_TRY([[maybe_unused]] const Done extended, out->extend(size));
  }
  DEEPINFER_TRY(std::string digest, out->finish());
  sums_.emplace_back(file, std::move(digest));
  return Done{};
}

Status FolderWriter::write_tensor(OutputFile& out, const OutputTensor& tensor, std::size_t index,
                                  const Producer& producer) {
  for (std::int64_t offset = 0; offset < tensor.bytes; offset += kChunkBytes) {
    chunk_.resize(static_cast<std::size_t>(std::min(kChunkBytes, tensor.bytes - offset)));
    DEEPINFER_TRY([[maybe_unused]] const Done made, producer(index, offset, chunk_));
    DEEPINFER_TRY([[maybe_unused]] const Done written, out.write(chunk_));
    if (options_.progress && !options_.progress(total_bytes_ + offset)) {
      return fail(ErrorCode::kCancelled, "interrupted");
    }
  }
  return Done{};
}

Status FolderWriter::write_index() {
  std::sort(weight_map_.begin(), weight_map_.end());
  nlohmann::json index;
  index["metadata"]["total_size"] = total_bytes_;
  nlohmann::json& map = index["weight_map"] = nlohmann::json::object();
  for (const auto& [tensor, file] : weight_map_) map[tensor] = file;
  return add_text("model.safetensors.index.json", index.dump(1) + "\n");
}

Status FolderWriter::write_checksums() {
  std::sort(sums_.begin(), sums_.end());
  std::string text;
  for (const auto& [file, digest] : sums_) {
    if (digest.empty()) return fail(ErrorCode::kInternal, "the crypto library has no SHA-256");
    text.append(digest).append("  ").append(file).append("\n");
  }
  return add_text("SHA256SUMS", text);
}

Status FolderWriter::commit() {
  DEEPINFER_TRY([[maybe_unused]] const Done indexed, write_index());
  if (options_.checksums && !options_.sparse) {
    DEEPINFER_TRY([[maybe_unused]] const Done summed, write_checksums());
  }
  std::error_code error;
  fs::rename(partial_, folder_, error);
  if (error) {
    return fail(ErrorCode::kInvalidArgument, "cannot rename " + partial_.string() + " to " +
                                                 folder_.string() + ": " + error.message());
  }
  committed_ = true;
  return Done{};
}

}  // namespace deepinfer::engine
