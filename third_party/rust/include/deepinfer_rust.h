// The Rust libraries behind one C ABI: byte-level BPE tokenizers.
//
// Written by hand; a test compares the names with the archive's symbols. Text is UTF-8 and is not
// ended by a zero byte. A call that can fail returns a status and writes one clause, ended by a
// zero byte and cut to `error_capacity` bytes, into `error` (which may be null). No call aborts on
// its input and none prints.
//
// Threads:  a dr_tokenizer is read-only after dr_tokenizer_new: any number of threads at once.
// Lifetime: the caller frees what dr_tokenizer_new made; pointers into it die with it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DR_OK = 0,
  DR_INVALID = 1,   // the input cannot be used; the text says why
  DR_NOT_UTF8 = 2,  // the text given is not UTF-8
  DR_INTERNAL = 3,  // a panic inside the library
};

typedef struct dr_tokenizer dr_tokenizer;

// `json`: the content of tokenizer.json. On failure *out is null.
int32_t dr_tokenizer_new(const uint8_t* json, size_t size, dr_tokenizer** out, char* error,
                         size_t error_capacity);
void dr_tokenizer_free(dr_tokenizer* tokenizer);

// The largest id plus one.
size_t dr_tokenizer_vocabulary(const dr_tokenizer* tokenizer);
// The file's own flag; false for an id outside the vocabulary.
bool dr_tokenizer_is_special(const dr_tokenizer* tokenizer, uint32_t id);
// The bytes that `id` stands for; an added token gives its spelling. Null outside the vocabulary.
const uint8_t* dr_tokenizer_token_bytes(const dr_tokenizer* tokenizer, uint32_t id, size_t* size);
// DR_INVALID when no added token has exactly this spelling.
int32_t dr_tokenizer_added_token(const dr_tokenizer* tokenizer, const uint8_t* spelling,
                                 size_t size, uint32_t* id, char* error, size_t error_capacity);

// Writes at most `capacity` ids and always the whole count. Without `recognise_added` the text
// is encoded as if there were no added tokens. Nothing is put before or after the text.
int32_t dr_tokenizer_encode(const dr_tokenizer* tokenizer, const uint8_t* text, size_t size,
                            bool recognise_added, uint32_t* ids, size_t capacity, size_t* count,
                            char* error, size_t error_capacity);
// Writes at most `capacity` bytes and always the whole size. Bytes that are not UTF-8 become
// U+FFFD. DR_INVALID for an id outside the vocabulary.
int32_t dr_tokenizer_decode(const dr_tokenizer* tokenizer, const uint32_t* ids, size_t count,
                            bool skip_special, char* text, size_t capacity, size_t* size,
                            char* error, size_t error_capacity);

// One compressed id for each token id; ids are given as normalised texts first appear. Writes at
// most `capacity` ids and always the whole count.
int32_t dr_tokenizer_engram_map(const dr_tokenizer* tokenizer, int32_t* map, size_t capacity,
                                size_t* count, char* error, size_t error_capacity);

#ifdef __cplusplus
}
#endif
