//! picohttpparser: head only; start line and fields as pointers.

use crate::{repeat, Answer, Hash, MOST_FIELDS};
use picohttpparser_sys::{phr_header, phr_parse_request, phr_parse_response};
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int};
use std::ptr::null;
use std::slice::from_raw_parts;

type Headers = [MaybeUninit<phr_header>; MOST_FIELDS];

/// The two texts of the start line (method and target, or the reason phrase and nothing), status, and sizes.
struct Head {
    texts: [(*const c_char, usize); 2],
    status: c_int,
    size: c_int,
    count: usize,
}

#[inline(always)]
fn parse(data: &[u8], response: bool, headers: &mut Headers) -> Option<Head> {
    let mut first = (null(), 0);
    let mut second = (null(), 0);
    let (mut status, mut minor) = (0, 0);
    let mut count = MOST_FIELDS;
    let (base, table) = (data.as_ptr().cast(), headers.as_mut_ptr().cast());
    let size = unsafe {
        if response {
            phr_parse_response(
                base,
                data.len(),
                &mut minor,
                &mut status,
                &mut first.0,
                &mut first.1,
                table,
                &mut count,
                0,
            )
        } else {
            phr_parse_request(
                base,
                data.len(),
                &mut first.0,
                &mut first.1,
                &mut second.0,
                &mut second.1,
                &mut minor,
                table,
                &mut count,
                0,
            )
        }
    };
    if size < 0 {
        return None;
    }
    Some(Head { texts: [first, second], status, size, count })
}

pub fn answer(data: &[u8], response: bool) -> Option<Answer> {
    let mut headers: Headers = unsafe { MaybeUninit::uninit().assume_init() };
    let head = parse(data, response, &mut headers)?;
    let mut hash = Hash::new();
    let slice = |base: *const c_char, length| unsafe { from_raw_parts(base.cast::<u8>(), length) };
    for (base, length) in &head.texts[..if response { 1 } else { 2 }] {
        hash.add(slice(*base, *length));
    }
    for header in &headers[..head.count] {
        let header = unsafe { header.assume_init() };
        hash.add(slice(header.name, header.name_len));
        hash.add(slice(header.value, header.value_len));
    }
    Some(Answer {
        head_size: head.size as u64,
        fields: head.count as u64,
        status: head.status as u64,
        hash: hash.value(),
    })
}

pub fn run(data: &[u8], response: bool, iterations: u64) -> u64 {
    let mut headers: Headers = unsafe { MaybeUninit::uninit().assume_init() };
    let mut one =
        |data: &[u8], response| parse(data, response, &mut headers).map(|head| head.size as u64 + head.count as u64);
    if response {
        repeat(data, iterations, |data| one(data, true))
    } else {
        repeat(data, iterations, |data| one(data, false))
    }
}
