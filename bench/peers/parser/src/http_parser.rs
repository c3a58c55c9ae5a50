//! http-parser, the distribution's shared library: a state machine with callbacks, which also follows the body to the end of the message.
//!
//! The callbacks keep what the other parsers give: where each name and value begins and how long it is.

use crate::{repeat, Answer, Hash, MOST_FIELDS};
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int, c_uint, c_ulong, c_ushort, c_void};
use std::ptr::null;
use std::slice::from_raw_parts;

/// `struct http_parser` of version 2.9; bit fields are kept in words.
#[repr(C)]
struct HttpParser {
    state: c_uint,
    read: u32,
    content_length: u64,
    major: c_ushort,
    minor: c_ushort,
    /// status 16 bits, method 8, error 7, upgrade 1, from the lowest
    status_and_error: c_uint,
    data: *mut c_void,
}

type Event = Option<extern "C" fn(*mut HttpParser) -> c_int>;
type DataEvent = Option<extern "C" fn(*mut HttpParser, *const c_char, usize) -> c_int>;

#[repr(C)]
struct Settings {
    on_message_begin: Event,
    on_url: DataEvent,
    on_status: DataEvent,
    on_header_field: DataEvent,
    on_header_value: DataEvent,
    on_headers_complete: Event,
    on_body: DataEvent,
    on_message_complete: Event,
    on_chunk_header: Event,
    on_chunk_complete: Event,
}

const REQUEST: c_int = 0;
const RESPONSE: c_int = 1;

#[link(name = "http_parser")]
extern "C" {
    fn http_parser_version() -> c_ulong;
    fn http_parser_init(parser: *mut HttpParser, kind: c_int);
    fn http_parser_execute(
        parser: *mut HttpParser,
        settings: *const Settings,
        data: *const c_char,
        length: usize,
    ) -> usize;
    fn http_method_str(method: c_uint) -> *const c_char;
}

/// Where something is and how long; given in one piece, because the message is.
type Piece = (*const c_char, usize);

struct Message {
    text: Piece, // target or reason phrase
    count: usize,
    complete: bool,
    fields: [MaybeUninit<(Piece, Piece)>; MOST_FIELDS],
}

fn message<'a>(parser: *mut HttpParser) -> &'a mut Message {
    unsafe { &mut *(*parser).data.cast() }
}

extern "C" fn on_text(parser: *mut HttpParser, at: *const c_char, length: usize) -> c_int {
    message(parser).text = (at, length);
    0
}

extern "C" fn on_name(parser: *mut HttpParser, at: *const c_char, length: usize) -> c_int {
    let message = message(parser);
    if message.count == MOST_FIELDS {
        return 1;
    }
    message.fields[message.count].write(((at, length), (null(), 0)));
    message.count += 1;
    0
}

extern "C" fn on_value(parser: *mut HttpParser, at: *const c_char, length: usize) -> c_int {
    let message = message(parser);
    unsafe { (*message.fields[message.count - 1].as_mut_ptr()).1 = (at, length) };
    0
}

extern "C" fn on_complete(parser: *mut HttpParser) -> c_int {
    message(parser).complete = true;
    0
}

static SETTINGS: Settings = Settings {
    on_message_begin: None,
    on_url: Some(on_text),
    on_status: Some(on_text),
    on_header_field: Some(on_name),
    on_header_value: Some(on_value),
    on_headers_complete: None,
    on_body: None,
    on_message_complete: Some(on_complete),
    on_chunk_header: None,
    on_chunk_complete: None,
};

#[inline(always)]
fn parse(data: &[u8], kind: c_int, message: &mut Message) -> Option<HttpParser> {
    message.count = 0;
    message.complete = false;
    let mut parser = MaybeUninit::<HttpParser>::uninit();
    unsafe {
        http_parser_init(parser.as_mut_ptr(), kind);
        let mut parser = parser.assume_init();
        parser.data = (message as *mut Message).cast();
        let taken = http_parser_execute(&mut parser, &SETTINGS, data.as_ptr().cast(), data.len());
        let error = parser.status_and_error >> 24 & 0x7f;
        if taken == data.len() && error == 0 && message.complete {
            Some(parser)
        } else {
            None
        }
    }
}

fn new_message() -> Message {
    Message { text: (null(), 0), count: 0, complete: false, fields: unsafe { MaybeUninit::uninit().assume_init() } }
}

fn kind(response: bool) -> c_int {
    if response {
        RESPONSE
    } else {
        REQUEST
    }
}

pub fn answer(data: &[u8], response: bool) -> Option<Answer> {
    // The layout of its struct belongs to one minor version.
    if unsafe { http_parser_version() } >> 8 != 0x0209 {
        return None;
    }
    let mut message = new_message();
    let parser = parse(data, kind(response), &mut message)?;
    let slice = |piece: Piece| unsafe { from_raw_parts(piece.0.cast::<u8>(), piece.1) };
    let mut hash = Hash::new();
    if !response {
        let name = unsafe { std::ffi::CStr::from_ptr(http_method_str(parser.status_and_error >> 16 & 0xff)) };
        hash.add(name.to_bytes());
    }
    hash.add(slice(message.text));
    for field in &message.fields[..message.count] {
        let (name, value) = unsafe { field.assume_init() };
        hash.add(slice(name));
        hash.add(slice(value));
    }
    Some(Answer {
        head_size: 0,
        fields: message.count as u64,
        status: u64::from(parser.status_and_error & 0xffff) * u64::from(response),
        hash: hash.value(),
    })
}

pub fn run(data: &[u8], response: bool, iterations: u64) -> u64 {
    let mut message = new_message();
    let kind = kind(response);
    repeat(data, iterations, |data| parse(data, kind, &mut message).map(|_| message.count as u64))
}
