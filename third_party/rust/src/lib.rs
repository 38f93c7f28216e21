//! The C ABI of deepinferd's Rust libraries. `include/deepinfer_rust.h` documents every function.
//!
//! Every buffer is explicit, no panic leaves a function, and nothing is printed.

mod boundary;
mod engram;
mod tokenizer;

use boundary::{ErrorText, Failure, bytes, copy_out, guard, text};
use tokenizer::Text;

/// # Safety
/// `json` is readable for `size` bytes; `out` is writable; `error` has room for `error_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_new(
    json: *const u8,
    size: usize,
    out: *mut *mut Text,
    error: *mut u8,
    error_capacity: usize,
) -> i32 {
    unsafe {
        guard(ErrorText { text: error, capacity: error_capacity }, || {
            *out = std::ptr::null_mut();
            *out = Box::into_raw(Box::new(Text::from_json(bytes(json, size))?));
            Ok(())
        })
    }
}

/// # Safety
/// `tokenizer` came from `dr_tokenizer_new` and is not used afterwards; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_free(tokenizer: *mut Text) {
    if !tokenizer.is_null() {
        let nowhere = ErrorText { text: std::ptr::null_mut(), capacity: 0 };
        unsafe {
            guard(nowhere, || {
                drop(Box::from_raw(tokenizer));
                Ok(())
            });
        }
    }
}

/// # Safety
/// `tokenizer` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_vocabulary(tokenizer: *const Text) -> usize {
    unsafe { (*tokenizer).vocabulary() }
}

/// # Safety
/// `tokenizer` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_is_special(tokenizer: *const Text, id: u32) -> bool {
    unsafe { (*tokenizer).is_special(id) }
}

/// # Safety
/// `tokenizer` is live; `size` is writable. What is returned lives as long as the tokenizer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_token_bytes(
    tokenizer: *const Text,
    id: u32,
    size: *mut usize,
) -> *const u8 {
    unsafe {
        let found = (*tokenizer).bytes(id);
        *size = found.map_or(0, <[u8]>::len);
        found.map_or(std::ptr::null(), <[u8]>::as_ptr)
    }
}

/// # Safety
/// `tokenizer` is live; `spelling` is readable for `size` bytes; `id` is writable; `error` as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_added_token(
    tokenizer: *const Text,
    spelling: *const u8,
    size: usize,
    id: *mut u32,
    error: *mut u8,
    error_capacity: usize,
) -> i32 {
    unsafe {
        guard(ErrorText { text: error, capacity: error_capacity }, || {
            let name = text(spelling, size)?;
            *id = (*tokenizer)
                .added_token(name)
                .ok_or_else(|| Failure::invalid(format!("no added token is spelled '{name}'")))?;
            Ok(())
        })
    }
}

/// # Safety
/// `tokenizer` is live; `data` is readable for `size` bytes; `ids` has room for `capacity` ids;
/// `count` is writable; `error` as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_encode(
    tokenizer: *const Text,
    data: *const u8,
    size: usize,
    recognise_added: bool,
    ids: *mut u32,
    capacity: usize,
    count: *mut usize,
    error: *mut u8,
    error_capacity: usize,
) -> i32 {
    unsafe {
        guard(ErrorText { text: error, capacity: error_capacity }, || {
            *count = 0;
            let encoded = (*tokenizer).encode(text(data, size)?, recognise_added)?;
            copy_out(&encoded, ids, capacity, count);
            Ok(())
        })
    }
}

/// # Safety
/// `tokenizer` is live; `ids` is readable for `count` ids; `out` has room for `capacity` bytes;
/// `size` is writable; `error` as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_decode(
    tokenizer: *const Text,
    ids: *const u32,
    count: usize,
    skip_special: bool,
    out: *mut u8,
    capacity: usize,
    size: *mut usize,
    error: *mut u8,
    error_capacity: usize,
) -> i32 {
    unsafe {
        guard(ErrorText { text: error, capacity: error_capacity }, || {
            *size = 0;
            let ids = if count == 0 { &[] } else { std::slice::from_raw_parts(ids, count) };
            let decoded = (*tokenizer).decode(ids, skip_special)?;
            copy_out(decoded.as_bytes(), out, capacity, size);
            Ok(())
        })
    }
}

/// # Safety
/// `tokenizer` is live; `map` has room for `capacity` ids; `count` is writable; `error` as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dr_tokenizer_engram_map(
    tokenizer: *const Text,
    map: *mut i32,
    capacity: usize,
    count: *mut usize,
    error: *mut u8,
    error_capacity: usize,
) -> i32 {
    unsafe {
        guard(ErrorText { text: error, capacity: error_capacity }, || {
            *count = 0;
            copy_out(&(*tokenizer).engram_map(), map, capacity, count);
            Ok(())
        })
    }
}
