//! Frames through the packet path itself, by BPF_PROG_TEST_RUN: forwarded as the model requires, or
//! passed unchanged. Needs root.
//!
//! libFuzzer sees the coverage of the harness (the mangler and the model), not of the BPF program;
//! the model branches where the program does, so its coverage leads to the same places.
#![no_main]

use std::cell::RefCell;

use frames::exercise::Exercise;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static EXERCISE: RefCell<Exercise> = RefCell::new(Exercise::default());
}

fuzz_target!(|choices: &[u8]| {
    EXERCISE.with_borrow_mut(|exercise| exercise.run(choices));
});
