//! What every exported function shares: status codes, error text, panics stopped at the boundary.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;

pub const OK: i32 = 0;
pub const INVALID: i32 = 1;
pub const NOT_UTF8: i32 = 2;
pub const INTERNAL: i32 = 3;

/// Why a call failed: a status code and one clause.
pub struct Failure {
    pub code: i32,
    pub message: String,
}

impl Failure {
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: INVALID, message: message.into() }
    }
    pub fn not_utf8(message: impl Into<String>) -> Self {
        Self { code: NOT_UTF8, message: message.into() }
    }
}

pub type Outcome<T> = Result<T, Failure>;

/// A buffer of the caller for error text, which ends with a zero byte. May be absent.
#[derive(Clone, Copy)]
pub struct ErrorText {
    pub text: *mut u8,
    pub capacity: usize,
}

impl ErrorText {
    /// Writes as much of `message` as fits, cut between characters.
    ///
    /// # Safety
    /// `text` is null or has room for `capacity` bytes.
    unsafe fn write(self, message: &str) {
        if self.text.is_null() || self.capacity == 0 {
            return;
        }
        let mut size = message.len().min(self.capacity - 1);
        while !message.is_char_boundary(size) {
            size -= 1;
        }
        unsafe {
            std::ptr::copy_nonoverlapping(message.as_ptr(), self.text, size);
            *self.text.add(size) = 0;
        }
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown panic")
}

/// Runs `body`; an error or a panic becomes a code and text in `error`.
///
/// # Safety
/// `error.text` is null or has room for `error.capacity` bytes.
pub unsafe fn guard(error: ErrorText, body: impl FnOnce() -> Outcome<()>) -> i32 {
    // A library prints nothing: the message goes to the caller.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| set_hook(Box::new(|_| {})));

    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure {
            code: INTERNAL,
            message: format!("panic: {}", panic_message(payload.as_ref())),
        },
    };
    unsafe { error.write(&failure.message) };
    failure.code
}

/// The caller's bytes.
///
/// # Safety
/// `data` is readable for `size` bytes, or `size` is 0.
pub unsafe fn bytes<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(data, size) }
}

/// The caller's text, which must be UTF-8.
///
/// # Safety
/// As for `bytes`.
pub unsafe fn text<'a>(data: *const u8, size: usize) -> Outcome<&'a str> {
    std::str::from_utf8(unsafe { bytes(data, size) })
        .map_err(|e| Failure::not_utf8(format!("text is not UTF-8 at byte {}", e.valid_up_to())))
}

/// Copies as much of `values` as fits and always tells the whole count.
///
/// # Safety
/// `out` has room for `capacity` values, or `capacity` is 0; `count` is writable.
pub unsafe fn copy_out<T: Copy>(values: &[T], out: *mut T, capacity: usize, count: *mut usize) {
    let fits = values.len().min(capacity);
    if fits > 0 {
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), out, fits) };
    }
    unsafe { *count = values.len() };
}
