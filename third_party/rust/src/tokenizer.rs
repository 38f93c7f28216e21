//! A byte-level BPE tokenizer read from tokenizer.json, with the bytes of every token at hand.

use serde::Deserialize;
use tokenizers::tokenizer::{
    Model, NormalizerWrapper, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer,
};
use tokenizers::{DecoderWrapper, ModelWrapper, Normalizer};

use crate::boundary::{Failure, Outcome};
use crate::engram;

/// No vocabulary is near this size; a larger id is a damaged file.
const MAX_VOCABULARY: usize = 1 << 22;
/// The regex engine gives up without a word beyond a million steps inside one run of white space.
const MAX_WHITE_SPACE_RUN: usize = 500_000;

/// One entry of the vocabulary; an id that the file does not use is empty.
#[derive(Default)]
struct Entry {
    spelling: String,
    bytes: Vec<u8>,
    special: bool,
}

pub struct Text {
    inner: Tokenizer,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct DeclaredToken {
    id: u32,
    content: String,
}

#[derive(Deserialize)]
struct Declared {
    #[serde(default)]
    added_tokens: Vec<DeclaredToken>,
}

fn unusable(reason: impl std::fmt::Display) -> Failure {
    Failure::invalid(format!("tokenizer.json cannot be used: {reason}"))
}

/// The byte that a character of the byte alphabet stands for: printable Latin-1 for itself, then
/// the other bytes in order from U+0100 on.
fn byte_of(c: char) -> Option<u8> {
    let is_printable = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match u32::from(c) {
        code @ 0..=0xFF => u8::try_from(code).ok().filter(|b| is_printable(*b)),
        code => (0..=u8::MAX).filter(|b| !is_printable(*b)).nth((code - 0x100) as usize),
    }
}

/// A spelling outside the byte alphabet stands for itself, as in the crate's own decoder.
fn bytes_of(spelling: &str, alphabet: &[Option<u8>]) -> Vec<u8> {
    spelling
        .chars()
        .map(|c| alphabet.get(c as usize).copied().flatten())
        .collect::<Option<Vec<u8>>>()
        .unwrap_or_else(|| spelling.as_bytes().to_vec())
}

fn place(entries: &mut Vec<Entry>, id: u32, entry: Entry) -> Outcome<()> {
    let id = id as usize;
    if id >= MAX_VOCABULARY {
        return Err(unusable(format!("token id {id} is beyond {MAX_VOCABULARY}")));
    }
    if id >= entries.len() {
        entries.resize_with(id + 1, Entry::default);
    }
    entries[id] = entry;
    Ok(())
}

fn entries_of(tokenizer: &Tokenizer) -> Outcome<Vec<Entry>> {
    let alphabet: Vec<Option<u8>> =
        (0..0x200).map(|code| char::from_u32(code).and_then(byte_of)).collect();
    let mut entries = Vec::new();
    for (spelling, id) in tokenizer.get_model().get_vocab() {
        let bytes = bytes_of(&spelling, &alphabet);
        place(&mut entries, id, Entry { spelling, bytes, special: false })?;
    }
    for (id, token) in tokenizer.get_added_vocabulary().get_added_tokens_decoder() {
        let bytes = token.content.as_bytes().to_vec();
        let entry = Entry { spelling: token.content.clone(), bytes, special: token.special };
        place(&mut entries, *id, entry)?;
    }
    Ok(entries)
}

fn longest_white_space(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c.is_whitespace() { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

impl Text {
    pub fn from_json(json: &[u8]) -> Outcome<Self> {
        let mut inner = Tokenizer::from_bytes(json).map_err(unusable)?;
        let declared: Declared = serde_json::from_slice(json).map_err(unusable)?;
        for token in &declared.added_tokens {
            // The crate gives such a token another id and goes on.
            if inner.token_to_id(&token.content) != Some(token.id) {
                return Err(unusable(format!(
                    "added token '{}' cannot have id {}",
                    token.content, token.id
                )));
            }
        }
        if !matches!(inner.get_model(), ModelWrapper::BPE(_)) {
            return Err(unusable("the model is not BPE"));
        }
        if !matches!(inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_))) {
            return Err(unusable("the decoder is not ByteLevel"));
        }
        inner.with_truncation(None).map_err(unusable)?;
        inner.with_padding(None);
        let entries = entries_of(&inner)?;
        Ok(Self { inner, entries })
    }

    pub fn vocabulary(&self) -> usize {
        self.entries.len()
    }

    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.entries.get(id as usize).map(|entry| entry.bytes.as_slice())
    }

    pub fn is_special(&self, id: u32) -> bool {
        self.entries.get(id as usize).is_some_and(|entry| entry.special)
    }

    pub fn added_token(&self, spelling: &str) -> Option<u32> {
        self.inner.get_added_vocabulary().get_vocab().get(spelling).copied()
    }

    pub fn encode(&self, text: &str, recognise_added: bool) -> Outcome<Vec<u32>> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let run = longest_white_space(text);
        if run > MAX_WHITE_SPACE_RUN {
            return Err(Failure::invalid(format!(
                "{run} white-space characters in a row, at most {MAX_WHITE_SPACE_RUN} are taken"
            )));
        }
        let encoding = if recognise_added {
            self.inner.encode_fast(text, false)
        } else {
            self.encode_plain(text)
        };
        encoding
            .map(|e| e.get_ids().to_vec())
            .map_err(|e| Failure::invalid(format!("text cannot be encoded: {e}")))
    }

    /// The steps of the crate's `encode`, without the one that looks for added tokens.
    fn encode_plain(&self, text: &str) -> tokenizers::Result<tokenizers::Encoding> {
        let mut pieces = PreTokenizedString::from(text);
        if let Some(normalizer) = self.inner.get_normalizer() {
            pieces.normalize(|piece| NormalizerWrapper::normalize(normalizer, piece))?;
        }
        if let Some(splitter) = self.inner.get_pre_tokenizer() {
            splitter.pre_tokenize(&mut pieces)?;
        }
        self.inner.get_model().tokenize_in_pretokenized(&mut pieces, None)?;
        pieces.into_encoding(None, 0, OffsetType::None)
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Outcome<String> {
        let mut all = Vec::new();
        for id in ids {
            let entry = self.entries.get(*id as usize).ok_or_else(|| {
                Failure::invalid(format!(
                    "token id {id} is outside the vocabulary of {}",
                    self.entries.len()
                ))
            })?;
            if !(skip_special && entry.special) {
                all.extend_from_slice(&entry.bytes);
            }
        }
        Ok(String::from_utf8_lossy(&all).into_owned())
    }

    pub fn engram_map(&self) -> Vec<i32> {
        engram::compress(self.entries.iter().map(|entry| {
            (String::from_utf8_lossy(&entry.bytes).into_owned(), entry.spelling.as_str())
        }))
    }
}
