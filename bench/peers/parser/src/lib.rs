//! picohttpparser behind the interface of `bench/parser_peers.h`.
//!
//! It is called as its users call it, with a complete message at once, and leaves its fields in a
//! table of 128 entries that is not cleared: head only, start line and fields as pointers.

use picohttpparser_sys::{phr_header, phr_parse_request, phr_parse_response};
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int};
use std::ptr::null;
use std::slice::from_raw_parts;

const MOST_FIELDS: usize = 128;

type Headers = [MaybeUninit<phr_header>; MOST_FIELDS];

/// What the parser made of a message (`struct peer_answer`).
#[repr(C)]
pub struct Answer {
    head_size: u64,
    fields: u64,
    status: u64,
    hash: u64,
}

/// The two texts of the start line (method and target, or the reason phrase and nothing), status,
/// and sizes.
struct Head {
    texts: [(*const c_char, usize); 2],
    status: c_int,
    size: c_int,
    count: usize,
}

#[inline(always)]
unsafe fn parse(data: &[u8], response: bool, headers: &mut Headers) -> Option<Head> {
    let (mut first, mut second) = ((null(), 0), (null(), 0));
    let (mut status, mut minor, mut count) = (0, 0, MOST_FIELDS);
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

/// FNV-1a over texts, a line feed after each.
unsafe fn add(hash: &mut u64, text: *const c_char, length: usize) {
    for byte in from_raw_parts(text.cast::<u8>(), length).iter().chain(b"\n") {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// The compiler may not know where the pointer leads, so it cannot move work out of a loop.
#[inline(always)]
fn unknown(data: &[u8]) -> &[u8] {
    let (mut pointer, length) = (data.as_ptr(), data.len());
    // Without `nomem`, memory may have changed as well.
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
/// `data` has `length` bytes, `answer` can be written.
#[no_mangle]
pub unsafe extern "C" fn peer_answer(
    data: *const u8, length: usize, response: c_int, answer: *mut Answer,
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
    *answer = Answer { head_size, fields, status, hash };
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
