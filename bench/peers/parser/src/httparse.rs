//! httparse: head only; start line and fields as slices. Chooses its instruction set when it is compiled or, failing that, when it runs.

use crate::{repeat, Answer, Hash, MOST_FIELDS};
use httparse::{Header, Request, Response, Status};
use std::mem::MaybeUninit;

type Headers<'a> = [MaybeUninit<Header<'a>>; MOST_FIELDS];

fn new_headers<'a>() -> Headers<'a> {
    unsafe { MaybeUninit::uninit().assume_init() }
}

fn hash_fields(hash: &mut Hash, headers: &[Header]) {
    for header in headers {
        hash.add(header.name.as_bytes());
        hash.add(header.value);
    }
}

pub fn answer(data: &[u8], response: bool) -> Option<Answer> {
    let mut headers = new_headers();
    let mut hash = Hash::new();
    if response {
        let mut head = Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let parsed = config.parse_response_with_uninit_headers(&mut head, data, &mut headers);
        let size = complete(parsed)?;
        hash.add(head.reason?.as_bytes());
        hash_fields(&mut hash, head.headers);
        return Some(Answer {
            head_size: size as u64,
            fields: head.headers.len() as u64,
            status: u64::from(head.code?),
            hash: hash.value(),
        });
    }
    let mut head = Request::new(&mut []);
    let size = complete(head.parse_with_uninit_headers(data, &mut headers))?;
    hash.add(head.method?.as_bytes());
    hash.add(head.path?.as_bytes());
    hash_fields(&mut hash, head.headers);
    Some(Answer { head_size: size as u64, fields: head.headers.len() as u64, status: 0, hash: hash.value() })
}

#[inline(always)]
fn complete(parsed: httparse::Result<usize>) -> Option<usize> {
    match parsed {
        Ok(Status::Complete(size)) => Some(size),
        _ => None,
    }
}

pub fn run(data: &[u8], response: bool, iterations: u64) -> u64 {
    if response {
        repeat(data, iterations, |data| {
            let mut headers = new_headers();
            let mut head = Response::new(&mut []);
            let config = httparse::ParserConfig::default();
            let size = complete(config.parse_response_with_uninit_headers(&mut head, data, &mut headers))?;
            Some(size as u64 + head.headers.len() as u64)
        })
    } else {
        repeat(data, iterations, |data| {
            let mut headers = new_headers();
            let mut head = Request::new(&mut []);
            let size = complete(head.parse_with_uninit_headers(data, &mut headers))?;
            Some(size as u64 + head.headers.len() as u64)
        })
    }
}
