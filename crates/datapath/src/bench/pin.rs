//! Processor and priority of a thread that measures.

use std::ops::Range;

use crate::error::Error;

/// Scheduling priority of a thread that measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before all ordinary ones: on a busy machine, only so figures repeat.
    First,
    /// Among them.
    Ordinary,
    /// Behind all.
    Last,
}

/// Pins the calling thread to one CPU and schedules it before all ordinary threads. Threads that it
/// starts inherit that.
///
/// Before Linux 6.4 the thread runs behind ordinary ones. There, once `ksoftirqd` was woken, all
/// received packets wait for it (`ksoftirqd_running` of kernel/softirq.c, gone with d15121be7485).
/// A thread that feeds packets early leaves `ksoftirqd` one hundredth of the processor, and all but
/// one packet in a hundred are lost. Time used by other threads is not counted.
pub fn pin(cpu: usize) -> Result<(), Error> {
    let place = match kernel::release::is_at_least([6, 4]) {
        true => Place::First,
        false => Place::Last,
    };
    run_on(cpu..cpu + 1, place)
}

/// Undoes the pinning: every CPU, and ordinary priority.
pub fn unpin() -> Result<(), Error> {
    run_on(0..libc::CPU_SETSIZE as usize, Place::Ordinary)
}

fn run_on(cpus: Range<usize>, place: Place) -> Result<(), Error> {
    let what = format!("use CPUs {} to {}", cpus.start, cpus.end - 1);
    // SAFETY: a zeroed set is an empty one; CPU_SET checks nothing, hence the test of the index.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpus.end > libc::CPU_SETSIZE as usize {
        return Err(Error::System {
            what,
            source: std::io::ErrorKind::InvalidInput.into(),
        });
    }
    for cpu in cpus {
        // SAFETY: the index is within the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is a local of the stated size; 0 is the calling thread.
    if unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) } != 0 {
        return Err(Error::last_os(what));
    }
    let (policy, nice) = match place {
        Place::First => (libc::SCHED_OTHER, -20),
        Place::Ordinary => (libc::SCHED_OTHER, 0),
        Place::Last => (libc::SCHED_IDLE, 0),
    };
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters are a local; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, policy, &none) } != 0
        // SAFETY: plain numbers; 0 is the calling thread.
        || unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } != 0
    {
        return Err(Error::last_os("set a thread's priority"));
    }
    Ok(())
}
