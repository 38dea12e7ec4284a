//! Resources that this process inherited, and memory that it keeps.

/// Restricts descriptors from 3 on to this process: child processes do not get them. Descriptors
/// that this process opens itself are restricted already; these were open when it began.
pub fn close_descriptors_on_exec() {
    // SAFETY: plain numbers; nothing is closed now. Linux 5.11 has it, all that fails is that.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// Makes large allocations return to the kernel when freed. glibc would keep later allocations of a
/// size that was freed once. Aligned ones, such as a password's 12 MiB, hardly ever fit where an
/// earlier one was.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: plain numbers.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
}
