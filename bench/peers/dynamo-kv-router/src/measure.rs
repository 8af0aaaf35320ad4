//! Clocks, memory and percentiles.

use std::time::Instant;

/// Nanoseconds of processor time that `work` takes in all threads.
pub fn cpu_ns(work: impl FnOnce()) -> f64 {
    let before = process_cpu_ns();
    work();
    process_cpu_ns() - before
}

fn process_cpu_ns() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec that lives through the call.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the clock of the process");
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// What `work` gives, and the microseconds that it takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_nanos() as f64 / 1_000.0)
}

/// Resident memory in bytes, after what is free is given back.
pub fn resident_bytes() -> u64 {
    // SAFETY: may be called at any time.
    unsafe { libc::malloc_trim(0) };
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next())
        .expect("VmRSS");
    1_024 * kib.parse::<u64>().expect("a number of KiB")
}

/// The value that `percent` of all are not above.
pub fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}
