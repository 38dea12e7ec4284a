//! The heartbeat, and the epochs and times in its map: proofs that end, pauses without new proofs,
//! and the time at which all proofs end.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::clock;
use crate::control::{Control, Word};
use crate::error::Error;
use crate::load::Options;
use crate::program::keep;
use crate::run;
use crate::skel::WeirSkel;

/// Lets the packet path forward as long as the daemon lives, and ends its proofs.
pub struct Heartbeat {
    program: OwnedFd,
    control: Control,
    /// Time after any change in which nothing is proven, jiffies.
    quiet: u32,
    /// True if the daemon armed the packet path; the packet path may have disarmed itself since.
    wanted: bool,
    /// Time from which no proof holds.
    end: Option<Instant>,
    /// End of a pause without new proofs.
    paused: Option<Instant>,
}

impl Heartbeat {
    pub(crate) fn new(path: &WeirSkel<'_>, options: &Options) -> Result<Self, Error> {
        let mut own = Self {
            program: keep(&path.progs.weir_beat)?,
            control: Control::new(path)?,
            quiet: options.quiet_jiffies(),
            wanted: false,
            end: None,
            paused: None,
        };
        // The kernel's clock begins five minutes before it wraps: the end of a pause that never was
        // would seem to lie ahead.
        own.run(0, 0)?;
        own.control
            .set(Word::QuietUntil, own.control.get(Word::Now));
        Ok(own)
    }

    /// The current global epoch.
    pub fn epoch(&self) -> u32 {
        self.control.get(Word::Epoch)
    }

    /// Returns true if packets may be forwarded, as long as the heartbeat is not overdue.
    pub fn armed(&self) -> bool {
        self.control.get(Word::Armed) != 0
    }

    /// Lets the packet path forward while beats arrive.
    pub fn arm(&mut self) -> Result<(), Error> {
        self.run(0, 0)?;
        self.control.set(Word::Armed, 1);
        self.wanted = true;
        Ok(())
    }

    /// Sends everything to the kernel from the next packet on.
    pub fn disarm(&mut self) {
        self.wanted = false;
        self.control.set(Word::Armed, 0);
    }

    /// Signals to the packet path that the daemon is alive; due at least every [`Options::silence`]
    /// / 2. If the packet path had stopped for lack of beats, all proofs end, and forwarding
    /// resumes.
    pub fn beat(&mut self) -> Result<(), Error> {
        if self.wanted && !self.armed() {
            self.invalidate_all()?;
            return self.arm();
        }
        self.run(0, 0)
    }

    /// Ends every proof: each flow's next packet goes to the kernel, and proves the flow again.
    pub fn invalidate_all(&mut self) -> Result<(), Error> {
        self.run(self.quiet(), 1)?;
        // The packet path gave up when proofs reached their end. This call ends them: resume.
        if self.wanted && !self.armed() {
            self.control.set(Word::Armed, 1);
        }
        Ok(())
    }

    /// Sets a time from which no proof holds, by the kernel's own clock, until
    /// [`Heartbeat::hold_until`] sets another time and the proofs have ended. Takes effect with the
    /// next beat or [`Heartbeat::invalidate_all`]; returns true if the end changed and that call
    /// should come at once.
    pub fn hold_until(&mut self, end: Option<Instant>) -> bool {
        std::mem::replace(&mut self.end, end) != end
    }

    /// Ends every proof, and prevents new proofs until [`Heartbeat::resume`], at most for this
    /// long.
    pub fn pause(&mut self, most: Duration) -> Result<(), Error> {
        self.paused = Some(Instant::now() + most);
        self.invalidate_all()
    }

    /// Allows new proofs again.
    pub fn resume(&mut self) -> Result<(), Error> {
        match self.paused.take() {
            Some(_) => self.beat_quietly(),
            None => Ok(()),
        }
    }

    /// Sends a beat that starts the same period without proofs as any change does.
    pub(crate) fn beat_quietly(&mut self) -> Result<(), Error> {
        self.run(self.quiet(), 0)
    }

    /// Time without new proofs after a change, in jiffies.
    fn quiet(&self) -> u32 {
        let paused = self.paused.map_or(0, |until| {
            let left = until.saturating_duration_since(Instant::now());
            clock::jiffies(u32::try_from(left.as_millis()).unwrap_or(u32::MAX))
        });
        paused.max(self.quiet)
    }

    fn run(&self, quiet: u32, bump: u32) -> Result<(), Error> {
        let most = self.end.map_or(u32::MAX, |end| {
            clock::whole_jiffies(end.saturating_duration_since(Instant::now()))
        });
        let mut context = [0u8; 12];
        for (part, value) in context.chunks_exact_mut(4).zip([quiet, bump, most]) {
            part.copy_from_slice(&value.to_ne_bytes());
        }
        run::test_run_call(&self.program, &mut context)
            .map_err(|e| Error::bpf("run the heartbeat", e))
    }
}
