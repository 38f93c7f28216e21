// Writes a checkpoint folder: shards, their index, small files, checksums.
//
// Everything goes to DIR.partial, which becomes DIR at commit(): a folder of that name is complete,
// and a failure leaves nothing behind.
//
// Threads:  confined to one thread.
// Cost:     one chunk of 4 MiB in memory besides headers and the index
// Errors:   kInvalidArgument when the folder is there and not empty, or cannot be written (the
//           message has the file and the system's reason); kCancelled when progress says stop
// Source:   spec/model.md 3
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/output_file.h"
#include "engine/checkpoint/tensor.h"

namespace deepinfer::engine {

// A tensor to be written; its bytes come from the shard's producer.
struct OutputTensor {
  std::string name;
  StoredType type = StoredType::kBf16;
  std::vector<std::int64_t> shape;  // stored extents
  std::int64_t bytes = 0;
};

struct FolderWriterOptions {
  bool sparse = false;    // headers and holes only: no producer is called, no checksum written
  bool checksums = true;  // write SHA256SUMS
  // Called with the bytes written so far, of data; false stops the writing. May be empty.
  std::function<bool(std::int64_t)> progress;
};

class FolderWriter {
 public:
  using Options = FolderWriterOptions;
  // Fills bytes [offset, offset + out.size()) of tensor `index` of the shard. Both are multiples of
  // 4096 but for a tensor's end.
  using Producer =
      std::function<Status(std::size_t index, std::int64_t offset, std::span<std::uint8_t> out)>;

  [[nodiscard]] static Result<std::unique_ptr<FolderWriter>> create(
      const std::filesystem::path& folder, Options options);

  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;
  ~FolderWriter();  // without commit(): removes what was written

  [[nodiscard]] Status add_text(const std::string& file, std::string_view text);
  // Tensors are laid out by falling element size, so that each is aligned.
  [[nodiscard]] Status add_shard(const std::string& file, const std::vector<OutputTensor>& tensors,
                                 const Producer& producer);
  // Writes the index and the checksums and gives the folder its name.
  [[nodiscard]] Status commit();

 private:
  FolderWriter(std::filesystem::path folder, Options options);
  [[nodiscard]] Status write_tensor(OutputFile& out, const OutputTensor& tensor, std::size_t index,
                                    const Producer& producer);
  [[nodiscard]] Status write_index();
  [[nodiscard]] Status write_checksums();

  std::filesystem::path folder_;
  std::filesystem::path partial_;
  Options options_;
  std::vector<std::pair<std::string, std::string>> weight_map_;  // tensor, file
  std::vector<std::pair<std::string, std::string>> sums_;        // file, digest
  std::vector<std::uint8_t> chunk_;
  std::int64_t total_bytes_ = 0;
  bool committed_ = false;
};

}  // namespace deepinfer::engine
