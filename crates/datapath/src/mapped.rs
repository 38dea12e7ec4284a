//! An array map shared with the kernel through memory: no system call to read or write an element.

use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::ptr;

use libbpf_rs::{MapCore, MapHandle, MapMut};

use crate::error::Error;

/// A memory-mapped `BPF_MAP_TYPE_ARRAY` of `T`.
///
/// The kernel changes elements at any time, so they are only read and written as volatile copies,
/// never borrowed.
pub struct Mapped<T> {
    base: *mut T,
    stride: usize,
    len: u32,
    element: PhantomData<T>,
}

// SAFETY: the mapping belongs to no thread; all access goes through volatile copies.
unsafe impl<T: Send> Send for Mapped<T> {}

impl<T: Copy> Mapped<T> {
    /// Maps the first `len` elements of a map made with BPF_F_MMAPABLE.
    pub fn new(map: &impl MapCore, len: u32) -> Result<Self, Error> {
        // The kernel rounds elements up to 8 bytes (kernel/bpf/arraymap.c).
        let stride = size_of::<T>().next_multiple_of(8);
        assert_eq!(
            map.value_size() as usize,
            size_of::<T>(),
            "element size differs from the skeleton's"
        );
        assert!(len > 0 && len <= map.max_entries());
        Self::over(map, len, stride)
    }

    /// Maps the first `len` elements of an array in a section of its own (`.bss.NAME`): a map with
    /// one element, the whole array.
    pub fn section(map: &impl MapCore, len: u32) -> Result<Self, Error> {
        let stride = size_of::<T>();
        assert_eq!(map.max_entries(), 1);
        assert!(
            len > 0 && stride * len as usize <= map.value_size() as usize,
            "the section is shorter than {len} elements"
        );
        Self::over(map, len, stride)
    }

    fn over(map: &impl MapCore, len: u32, stride: usize) -> Result<Self, Error> {
        // SAFETY: a fresh shared mapping of a file descriptor we hold; the kernel checks its size.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                stride * len as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_fd().as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(Error::last_os(format!(
                "map {}",
                map.name().to_string_lossy()
            )));
        }
        Ok(Self {
            base: base.cast(),
            stride,
            len,
            element: PhantomData,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns the address of an element; `None` beyond the end.
    pub fn at(&self, index: u32) -> Option<*mut T> {
        // SAFETY: within the mapping.
        (index < self.len).then(|| unsafe { self.base.byte_add(self.stride * index as usize) })
    }

    /// A copy of an element.
    pub fn get(&self, index: u32) -> Option<T> {
        // SAFETY: `at` gives a valid, aligned pointer into a live mapping; T is plain data.
        self.at(index).map(|p| unsafe { p.read_volatile() })
    }

    /// Writes an element; does nothing beyond the end.
    pub fn set(&mut self, index: u32, value: T) {
        if let Some(p) = self.at(index) {
            // SAFETY: as in `get`.
            unsafe { p.write_volatile(value) }
        }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, unmapped once.
        unsafe { libc::munmap(self.base.cast(), self.stride * self.len as usize) };
    }
}

/// The constants of an object that was opened.
pub fn constants<'a, T>(rodata: &'a mut Option<&mut T>) -> &'a mut T {
    rodata.as_mut().expect("the object has a .rodata")
}

/// A map of a loaded object, for a part that outlives the borrow of it.
pub fn handle(map: &MapMut<'_>) -> Result<MapHandle, Error> {
    MapHandle::try_from(map).map_err(|e| Error::bpf("keep a map", e))
}

/// Reads a counter of the kernel side. A 32-bit machine repeats reads until two agree.
///
/// # Safety
/// `counter` points into a live mapping.
pub unsafe fn read_shared(counter: *const u64) -> u64 {
    // SAFETY: the caller's word.
    let read = || unsafe { counter.read_volatile() };
    let mut last = read();
    if cfg!(target_pointer_width = "64") {
        return last;
    }
    loop {
        let again = read();
        if again == last {
            return last;
        }
        last = again;
    }
}
