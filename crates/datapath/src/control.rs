//! The words by which the daemon steers the programs (bpf/include/control.h).

use std::mem::offset_of;

use crate::error::Error;
use crate::mapped::Mapped;
use crate::skel::{WeirSkel, types};

/// A word of `struct control`, by its number.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Word {
    Epoch = offset_of!(types::control, epoch) / 4,
    QuietUntil = offset_of!(types::control, quiet_until) / 4,
    Armed = offset_of!(types::control, armed) / 4,
    Hops = offset_of!(types::control, hops) / 4,
    Now = offset_of!(types::control, now) / 4,
    Capture = offset_of!(types::control, capture) / 4,
    Drops = offset_of!(types::control, drops) / 4,
    Bridge = offset_of!(types::control, bridge) / 4,
    Paths = offset_of!(types::control, paths) / 4,
}

/// All control words. Each part of the packet path has a mapping of its own.
pub(crate) struct Control(Mapped<u32>);

impl Control {
    pub fn new(path: &WeirSkel<'_>) -> Result<Self, Error> {
        let words = size_of::<types::control>() / 4;
        Mapped::section(&path.maps.bss, words as u32).map(Self)
    }

    pub fn get(&self, word: Word) -> u32 {
        self.0.get(word as u32).expect("a word of the mapping")
    }

    pub fn set(&mut self, word: Word, value: u32) {
        self.0.set(word as u32, value);
    }

    /// Counts one more.
    pub fn raise(&mut self, word: Word) {
        self.set(word, self.get(word).wrapping_add(1));
    }
}
