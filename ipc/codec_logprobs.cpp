#include "ipc/codec_logprobs.h"

#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

namespace deepinfer::ipc {
namespace {

using Count = std::uint32_t;
// One list, or one for each place.
using Lists = std::span<const std::vector<TokenLogprob>>;

struct Sizes {
  std::size_t tokens = 0;
  std::size_t text_bytes = 0;
};

Sizes sizes_of(Lists lists) {
  Sizes sizes;
  for (const auto& list : lists) {
    sizes.tokens += list.size();
    for (const TokenLogprob& entry : list) sizes.text_bytes += entry.text.size();
  }
  return sizes;
}

void add_room(Room& room, Lists lists) {
  const Sizes sizes = sizes_of(lists);
  room.add_struct<protocol::Logprobs>();
  room.add_bytes(sizes.tokens * sizeof(std::int32_t)).add_bytes(sizes.tokens * sizeof(float));
  room.add_bytes(sizes.tokens * sizeof(Count)).add_bytes(sizes.text_bytes);
}

void write(Lists lists, protocol::Logprobs::Builder out) {
  const Sizes sizes = sizes_of(lists);
  const auto column_bytes = static_cast<unsigned>(sizes.tokens * sizeof(std::int32_t));
  Column tokens(out.initTokens(column_bytes));
  Column numbers(out.initLogprobs(column_bytes));
  Column lengths(out.initTextBytes(column_bytes));
  Column texts(out.initTexts(static_cast<unsigned>(sizes.text_bytes)));
  for (const auto& list : lists) {
    for (const TokenLogprob& entry : list) {
      tokens.put(entry.token);
      numbers.put(entry.logprob);
      lengths.put(static_cast<Count>(entry.text.size()));
      texts.put_text(entry.text);
    }
  }
}

}  // namespace

void add_logprobs_room(Room& room, const std::vector<TokenLogprob>& list) {
  add_room(room, {&list, 1});
}

void write_logprobs(const std::vector<TokenLogprob>& list, protocol::Logprobs::Builder out) {
  write({&list, 1}, out);
}

std::vector<TokenLogprob> read_logprobs(protocol::Logprobs::Reader in, Reader& reader) {
  const auto tokens = reader.numbers<std::int32_t>("the tokens", in.getTokens());
  const auto numbers = reader.numbers<float>("the logprobs", in.getLogprobs());
  const auto lengths = reader.numbers<Count>("the lengths of texts", in.getTextBytes());
  if (numbers.size() != tokens.size() || lengths.size() != tokens.size()) {
    reader.refuse("the columns of the logprobs differ in length");
    return {};
  }
  auto texts = in.getTexts();
  std::vector<TokenLogprob> list(tokens.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (lengths[i] > texts.size()) {
      reader.refuse("the texts of the logprobs are cut off");
      return {};
    }
    list[i] = {.token = tokens[i],
               .logprob = numbers[i],
               .text = {reinterpret_cast<const char*>(texts.begin()), lengths[i]}};
    texts = texts.slice(lengths[i], texts.size());
  }
  if (texts.size() != 0) reader.refuse("the logprobs have more text than tokens");
  return list;
}

void add_top_logprobs_room(Room& room, const TopLogprobs& places) {
  room.add_struct<protocol::TopLogprobs>().add_bytes(places.size() * sizeof(Count));
  add_room(room, places);
}

void write_top_logprobs(const TopLogprobs& places, protocol::TopLogprobs::Builder out) {
  Column counts(out.initCounts(static_cast<unsigned>(places.size() * sizeof(Count))));
  for (const auto& place : places) counts.put(static_cast<Count>(place.size()));
  write(places, out.initEntries());
}

TopLogprobs read_top_logprobs(protocol::TopLogprobs::Reader in, Reader& reader) {
  const auto counts = reader.numbers<Count>("the counts of logprobs", in.getCounts());
  auto entries = read_logprobs(in.getEntries(), reader);
  auto next = entries.begin();
  TopLogprobs places;
  places.reserve(counts.size());
  for (const Count count : counts) {
    const auto left = static_cast<std::size_t>(entries.end() - next);
    if (count > left) {
      reader.refuse("the top logprobs have fewer entries than they count");
      return {};
    }
    const auto end = next + static_cast<std::ptrdiff_t>(count);
    places.emplace_back(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
  if (next != entries.end()) reader.refuse("the top logprobs have more entries than they count");
  return places;
}

}  // namespace deepinfer::ipc
