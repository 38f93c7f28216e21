//! Token id -> compressed id: tokens whose text means the same share one id.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;


fn is_plain_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn collapse_spaces(text: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    let mut in_run = false;
    for c in text {
        let plain = is_plain_space(c);
        if !plain {
            out.push(c);
        } else if !in_run {
            out.push(' ');
        }
        in_run = plain;
    }
    out
}

/// NFKC, NFD, no marks, lower case by code point, runs of white space as one, none at the ends.
fn normalise(text: &str) -> String {
    let lowered = text
        .nfkc()
        .nfd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase);
    let collapsed = collapse_spaces(lowered);
    if collapsed == " " {
        return collapsed;
    }
    collapsed.trim().to_string()
}

/// `spellings[id]` is (decoded text, entry of the vocabulary). Ids are given as keys first appear.
pub fn compress<'a>(spellings: impl Iterator<Item = (String, &'a str)>) -> Vec<i32> {
    let mut ids: HashMap<String, i32> = HashMap::new();
    spellings
        .map(|(text, entry)| {
            let key = if text.contains('\u{FFFD}') {
                entry.to_string()
            } else {
                let normal = normalise(&text);
                if normal.is_empty() { text } else { normal }
            };
            let next = ids.len() as i32;
            *ids.entry(key).or_insert(next)
        })
        .collect()
}
