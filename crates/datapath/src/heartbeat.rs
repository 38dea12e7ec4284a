//! The heartbeat, and what it carries: proofs that end, pauses in which none is given, and the time
//! at which all are over.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::{Datapath, clock};

impl Datapath {
    /// Lets the packet path forward, as long as it is beaten.
    pub fn arm(&mut self) -> Result<(), Error> {
        self.run_beat(0, 0)?;
        self.control().armed = 1;
        self.wanted = true;
        Ok(())
    }

    /// Everything goes to the kernel from the next packet on.
    pub fn disarm(&mut self) {
        self.wanted = false;
        self.control().armed = 0;
    }

    /// Tells the packet path that the daemon is alive; due at least every [`Options::silence`] / 2.
    /// Where it had given up on the daemon, all proofs end, and it goes on.
    pub fn beat(&mut self) -> Result<(), Error> {
        if self.wanted && self.control().armed == 0 {
            self.bump()?;
            return self.arm();
        }
        self.run_beat(0, 0)
    }

    /// Ends every proof: each flow's next packet goes to the kernel, and proves anew what the
    /// kernel does now.
    pub fn bump(&mut self) -> Result<(), Error> {
        self.run_beat(self.quiet(), 1)?;
        // It gave up when proofs reached their end. With the bump they are over, and it may go on.
        if self.wanted && self.control().armed == 0 {
            self.control().armed = 1;
        }
        Ok(())
    }

    /// From then on no proof holds, by the kernel's own clock, until [`Datapath::hold_until`] says
    /// otherwise and proofs were ended. Counts from the next beat or bump; whether that should come
    /// at once, as this is another end than before.
    pub fn hold_until(&mut self, end: Option<Instant>) -> bool {
        std::mem::replace(&mut self.end, end) != end
    }

    /// Ends every proof, and lets none come up until [`Datapath::resume`], or until so much time is
    /// over.
    pub fn pause(&mut self, most: Duration) -> Result<(), Error> {
        self.paused = Some(Instant::now() + most);
        self.bump()
    }

    /// Flows may be proven again.
    pub fn resume(&mut self) -> Result<(), Error> {
        match self.paused.take() {
            Some(_) => self.run_beat(self.quiet(), 0),
            None => Ok(()),
        }
    }

    /// How long nothing is to be proven after a change, jiffies.
    pub(crate) fn quiet(&self) -> u32 {
        let paused = self.paused.map_or(0, |until| {
            let left = until.saturating_duration_since(Instant::now());
            clock::jiffies(u32::try_from(left.as_millis()).unwrap_or(u32::MAX))
        });
        paused.max(self.options.quiet_jiffies())
    }

    pub(crate) fn run_beat(&mut self, quiet: u32, bump: u32) -> Result<(), Error> {
        let most = self.end.map_or(u32::MAX, |end| {
            clock::whole_jiffies(end.saturating_duration_since(Instant::now()))
        });
        let mut context = [0u8; 12];
        for (part, value) in context.chunks_exact_mut(4).zip([quiet, bump, most]) {
            part.copy_from_slice(&value.to_ne_bytes());
        }
        let input = libbpf_rs::ProgramInput {
            context_in: Some(&mut context),
            ..Default::default()
        };
        self.skel
            .progs
            .weir_beat
            .test_run(input)
            .map_err(|e| Error::bpf("run the heartbeat", e))?;
        Ok(())
    }

    /// Lets so many jiffies go by for what FINs, RSTs and SYNs hold: the clock itself takes 25 days
    /// to turn round. For tests.
    #[doc(hidden)]
    pub fn age_holds(&mut self, jiffies: u32) {
        for index in 0..self.sizes.trials() {
            if let Some(trial) = self.trials.at(index) {
                // SAFETY: a word of a live mapping, which the packet path writes as a whole.
                unsafe {
                    let hold = &raw mut (*trial).hold;
                    hold.write_volatile(hold.read_volatile().wrapping_sub(jiffies));
                }
            }
        }
    }
}
