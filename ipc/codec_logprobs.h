// The columns in which log-probabilities travel: ids, numbers, lengths of texts, and the texts together.
//
// Only for the codec_*.cpp beside it.
// Units:    bytes
// Threads:  pure functions
// Cost:     linear; four blobs for any number of tokens
// Errors:   Reader::refuse() what columns of different lengths or other sums are refused for
#pragma once

#include <vector>

#include <deepinfer/types.h>

#include "ipc/capnp_reader.h"
#include "ipc/capnp_writer.h"
#include "ipc/protocol.capnp.h"

namespace deepinfer::ipc {

using TopLogprobs = std::vector<std::vector<TokenLogprob>>;

void add_logprobs_room(Room& room, const std::vector<TokenLogprob>& list);
void write_logprobs(const std::vector<TokenLogprob>& list, protocol::Logprobs::Builder out);
[[nodiscard]] std::vector<TokenLogprob> read_logprobs(protocol::Logprobs::Reader in,
                                                      Reader& reader);

void add_top_logprobs_room(Room& room, const TopLogprobs& places);
void write_top_logprobs(const TopLogprobs& places, protocol::TopLogprobs::Builder out);
[[nodiscard]] TopLogprobs read_top_logprobs(protocol::TopLogprobs::Reader in, Reader& reader);

}  // namespace deepinfer::ipc
