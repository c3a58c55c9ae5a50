//! Other parsers behind the interface of `bench/parser_peers.h`: picohttpparser and httparse.
//!
//! Each is called as its users call it, with a complete message at once, and leaves its fields in a table of 128 entries that
//! is not cleared. What each leaves out that uvhttp's operation has, tools/benchlib/run_parser.py says.

mod httparse;
mod picohttpparser;

use std::os::raw::{c_char, c_int};
use std::slice;

pub const MOST_FIELDS: usize = 128;

/// What a parser made of a message (`struct peer_answer`).
#[repr(C)]
#[derive(Default)]
pub struct Answer {
    pub head_size: u64,
    pub fields: u64,
    pub status: u64,
    pub hash: u64,
}

/// FNV-1a over texts, a line feed behind each.
pub struct Hash(u64);

impl Hash {
    pub fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    pub fn add(&mut self, text: &[u8]) {
        for byte in text.iter().chain(b"\n") {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn value(&self) -> u64 {
        self.0
    }
}

/// The compiler may not know what lies behind the pointer, so it cannot move work out of a loop.
#[inline(always)]
pub fn unknown(data: &[u8]) -> &[u8] {
    let (mut pointer, length) = (data.as_ptr(), data.len());
    // Without `nomem`, memory may have changed as well.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) pointer, options(nostack, preserves_flags));
        slice::from_raw_parts(pointer, length)
    }
}

/// Adds up what `parse` returns; 0 after a failure.
#[inline(always)]
pub fn repeat(data: &[u8], iterations: u64, mut parse: impl FnMut(&[u8]) -> Option<u64>) -> u64 {
    let mut sum = 0;
    for _ in 0..iterations {
        match parse(unknown(data)) {
            Some(number) => sum += number,
            None => return 0,
        }
    }
    sum
}

struct Peer {
    /// Both with a NUL at the end.
    name: &'static str,
    version: &'static str,
    answer: fn(data: &[u8], response: bool) -> Option<Answer>,
    run: fn(data: &[u8], response: bool, iterations: u64) -> u64,
}

static PEERS: &[Peer] = &[
    Peer {
        name: "picohttpparser\0",
        version: "crate picohttpparser-sys 1.0.0\0",
        answer: picohttpparser::answer,
        run: picohttpparser::run,
    },
    Peer { name: "httparse\0", version: "crate httparse 1.10.1\0", answer: httparse::answer, run: httparse::run },
];

const INTERFACE: u32 = 1;

#[no_mangle]
pub extern "C" fn peers_interface() -> u32 {
    INTERFACE
}

fn text(number: usize, of: fn(&Peer) -> &'static str) -> *const c_char {
    PEERS.get(number).map_or(std::ptr::null(), |peer| of(peer).as_ptr().cast())
}

#[no_mangle]
pub extern "C" fn peer_name(number: usize) -> *const c_char {
    text(number, |peer| peer.name)
}

#[no_mangle]
pub extern "C" fn peer_version(number: usize) -> *const c_char {
    text(number, |peer| peer.version)
}

/// # Safety
/// `data` has `length` bytes, `answer` can be written.
#[no_mangle]
pub unsafe extern "C" fn peer_answer(
    number: usize,
    data: *const u8,
    length: usize,
    response: c_int,
    answer: *mut Answer,
) -> c_int {
    let data = slice::from_raw_parts(data, length);
    match PEERS.get(number).and_then(|peer| (peer.answer)(data, response != 0)) {
        Some(found) => {
            *answer = found;
            1
        }
        None => 0,
    }
}

/// # Safety
/// `data` has `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn peer_run(
    number: usize,
    data: *const u8,
    length: usize,
    response: c_int,
    iterations: u64,
) -> u64 {
    let data = slice::from_raw_parts(data, length);
    PEERS.get(number).map_or(0, |peer| (peer.run)(data, response != 0, iterations))
}
