//! The kernel's tick. The packet path counts time in jiffies, which cost it nothing.

use std::time::Duration;

/// Ticks per second (CONFIG_HZ), as the resolution of the coarse clock gives it away
/// (kernel/time/posix-timers.c: KTIME_LOW_RES).
pub fn ticks_per_second() -> u32 {
    let mut resolution = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local of the right type.
    let failed = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut resolution) } != 0;
    if failed || resolution.tv_nsec <= 0 {
        return 1000;
    }
    (1_000_000_000 / i64::from(resolution.tv_nsec as i32)).clamp(24, 10_000) as u32
}

/// Jiffies in a number of milliseconds, rounded up: never 0.
pub fn jiffies(milliseconds: u32) -> u32 {
    let ticks = (u64::from(milliseconds) * u64::from(ticks_per_second())).div_ceil(1000);
    ticks.max(1) as u32
}

/// Returns the whole jiffies in a time, rounded down.
pub fn whole_jiffies(time: Duration) -> u32 {
    let ticks = time.as_micros() * u128::from(ticks_per_second()) / 1_000_000;
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// Time since `then`, by the kernel's clock `now`, both in jiffies of which a second has `ticks`.
pub(crate) fn since(ticks: u32, now: u32, then: u32) -> Duration {
    // A packet may have come in after `now` was read.
    let jiffies = (now.wrapping_sub(then) as i32).max(0);
    Duration::from_micros(jiffies as u64 * 1_000_000 / u64::from(ticks))
}

/// Now, by a clock of the kernel's, nanoseconds.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local of the right type. The clocks asked for are always there.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
