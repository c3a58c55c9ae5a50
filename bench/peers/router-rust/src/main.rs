//! `router-rust FILE ROUNDS MILLISECONDS` measures matchit with the routes and lookups of FILE, as
//! bench/router_lookup.c measures uvhttp.

use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// The CPU time of this process, which does not advance while other processes use the core.
fn cpu_time() -> Duration {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    assert!(unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) } == 0);
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

struct Lookup {
    path: String,
    number: usize,
    params: usize,
}

/// Converts a pattern to matchit's syntax.
fn pattern_of(line: &str) -> String {
    let segments = line.split('/').map(|segment| match segment.as_bytes().first() {
        Some(b':') => format!("{{{}}}", &segment[1..]),
        Some(b'*') => format!("{{*{}}}", &segment[1..]),
        _ => segment.to_string(),
    });
    segments.collect::<Vec<_>>().join("/")
}

fn look_up(router: &matchit::Router<usize>, path: &str) -> usize {
    let found = router.at(path).expect("no route");
    *found.value + found.params.iter().map(|(_, value)| value.len()).sum::<usize>()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).expect("the set cannot be read");
    let rounds: usize = arguments[2].parse().expect("rounds");
    let duration = Duration::from_millis(arguments[3].parse().expect("milliseconds"));
    let (patterns, lookup_lines) = text.split_once("\n\n").expect("no lookups");
    let mut router = matchit::Router::new();
    for (number, line) in patterns.lines().enumerate() {
        router.insert(pattern_of(line), number + 1).expect("the route is refused");
    }
    let mut lookups = Vec::new();
    let mut expected = 0;
    for line in lookup_lines.lines() {
        let mut fields = line.splitn(3, ' ');
        let mut next = || fields.next().expect("a field is missing");
        let number = next().parse::<usize>().expect("number") + 1;
        let params = next().parse().expect("parameters");
        lookups.push(Lookup { number, params, path: next().to_string() });
    }
    for one in &lookups {
        let found = router.at(&one.path).expect("no route");
        assert!(*found.value == one.number && found.params.len() == one.params, "{} matches a wrong route", one.path);
        expected += look_up(&router, &one.path);
    }
    let mut measured = Vec::new();
    for _ in 0..rounds {
        let (mut sum, mut times, mut elapsed) = (0, 0, Duration::ZERO);
        let start = cpu_time();
        while elapsed < duration {
            for _ in 0..16 {
                sum += lookups.iter().map(|one| look_up(&router, &one.path)).sum::<usize>();
                times += 1;
            }
            elapsed = cpu_time() - start;
        }
        assert!(sum == times * expected, "the results of rounds differ");
        measured.push(format!("{:.3}", elapsed.as_nanos() as f64 / (times * lookups.len()) as f64));
    }
    println!("[{}]", measured.join(", "));
}
