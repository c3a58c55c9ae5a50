//! picohttpparser with the interface of `bench/parser_peers.h`.
//!
//! It gets a complete message in one call, as its users call it, and fills a table of 128 fields
//! that is not cleared. It parses the head only: start line and fields as pointers.

use picohttpparser_sys::{phr_header, phr_parse_request, phr_parse_response};
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int};
use std::ptr::null;
use std::slice::from_raw_parts;

const FIELDS_MAX: usize = 128;

type Headers = [MaybeUninit<phr_header>; FIELDS_MAX];

/// The result of parsing a message (`struct peer_result`).
#[repr(C)]
pub struct ParseResult {
    head_size: u64,
    fields: u64,
    status: u64,
    hash: u64,
}

/// The texts of the start line (method and target, or the reason phrase and none), status, and
/// sizes.
struct Head {
    texts: [(*const c_char, usize); 2],
    status: c_int,
    size: c_int,
    count: usize,
}

#[inline(always)]
unsafe fn parse(data: &[u8], response: bool, headers: &mut Headers) -> Option<Head> {
    let (mut first, mut second) = ((null(), 0), (null(), 0));
    let (mut status, mut minor, mut count) = (0, 0, FIELDS_MAX);
    let (base, size, table) = (data.as_ptr().cast(), data.len(), headers.as_mut_ptr().cast());
    let (text, length) = (&mut first.0, &mut first.1);
    let size = if response {
        phr_parse_response(base, size, &mut minor, &mut status, text, length, table, &mut count, 0)
    } else {
        let (target, target_length) = (&mut second.0, &mut second.1);
        phr_parse_request(
            base, size, text, length, target, target_length, &mut minor, table, &mut count, 0,
        )
    };
    (size >= 0).then(|| Head { texts: [first, second], status, size, count })
}

/// FNV-1a over texts, with a line feed after each.
unsafe fn add(hash: &mut u64, text: *const c_char, length: usize) {
    for byte in from_raw_parts(text.cast::<u8>(), length).iter().chain(b"\n") {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// Hides the origin of the pointer from the compiler, so that it cannot move work out of a loop.
#[inline(always)]
fn unknown(data: &[u8]) -> &[u8] {
    let (mut pointer, length) = (data.as_ptr(), data.len());
    // Without `nomem` the compiler assumes that memory has changed, too.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) pointer, options(nostack, preserves_flags));
        from_raw_parts(pointer, length)
    }
}

#[inline(always)]
unsafe fn repeat(data: &[u8], response: bool, iterations: u64) -> Option<u64> {
    let mut headers: Headers = MaybeUninit::uninit().assume_init();
    let mut sum = 0;
    for _ in 0..iterations {
        let head = parse(unknown(data), response, &mut headers)?;
        sum += head.size as u64 + head.count as u64;
    }
    Some(sum)
}

/// # Safety
/// `data` has `length` bytes, `result` is writable.
#[no_mangle]
pub unsafe extern "C" fn peer_parse(
    data: *const u8, length: usize, response: c_int, result: *mut ParseResult,
) -> c_int {
    let mut headers: Headers = MaybeUninit::uninit().assume_init();
    let head = match parse(from_raw_parts(data, length), response != 0, &mut headers) {
        Some(head) => head,
        None => return 0,
    };
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for (text, length) in &head.texts[..if response != 0 { 1 } else { 2 }] {
        add(&mut hash, *text, *length);
    }
    for header in &headers[..head.count] {
        let header = header.assume_init();
        add(&mut hash, header.name, header.name_len);
        add(&mut hash, header.value, header.value_len);
    }
    let (head_size, fields, status) = (head.size as u64, head.count as u64, head.status as u64);
    *result = ParseResult { head_size, fields, status, hash };
    1
}

/// # Safety
/// `data` has `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn peer_run(
    data: *const u8, length: usize, response: c_int, iterations: u64,
) -> u64 {
    let data = from_raw_parts(data, length);
    if response != 0 { repeat(data, true, iterations) } else { repeat(data, false, iterations) }
        .unwrap_or(0)
}
