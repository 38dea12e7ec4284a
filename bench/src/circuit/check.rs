//! The check beside the timing: what arrives is what a router makes of what was sent.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use datapath::bench::Sample;
use lab::generate::Side;

use super::Circuit;
use crate::Error;
use crate::path::Path;
use crate::traffic::{FILLER, Kind};

/// Frames that the sinks keep at most.
const SAMPLES: u32 = 64;
/// How long they may take to arrive.
const PATIENCE: Duration = Duration::from_secs(2);

impl Circuit {
    /// Checks what arrives: packets of as many flows as can be looked at, exactly as the router has
    /// to send them.
    pub fn check_wire(&mut self) -> Result<(), Error> {
        if self.path == Path::Nothing || self.path.drops() {
            return Ok(());
        }
        self.sink().sample(SAMPLES);
        self.feed(self.from, self.round().max(SAMPLES))?;
        let samples = self.samples();
        let named = |what: String| Error::Wrong(format!("{}: {what}", self.path.name()));
        let (mut flows, mut lengths) = (BTreeSet::new(), BTreeSet::new());
        for sample in &samples {
            let (flow, length) = self.check(sample).map_err(named)?;
            flows.insert(flow);
            lengths.insert(length);
        }
        // Packets keep their order on one core.
        let expected = SAMPLES.div_ceil(self.load.burst).min(self.load.flows);
        let all = samples.len() == SAMPLES as usize && flows.len() >= expected as usize;
        match all && lengths.len() == self.lengths.len() {
            true => Ok(()),
            false => Err(named(format!(
                "{} packets of {} flows and {} lengths arrived where {SAMPLES} of {expected} and \
                    {} were expected",
                samples.len(),
                flows.len(),
                lengths.len(),
                self.lengths.len()
            ))),
        }
    }

    /// What the sink keeps, when it has all: the kernel's own thread may go on with the last
    /// packets.
    fn samples(&mut self) -> Vec<Sample> {
        let begun = Instant::now();
        loop {
            let samples = self.sink().samples();
            if samples.len() == SAMPLES as usize || begun.elapsed() > PATIENCE {
                return samples;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Flow and length of a packet that is as it has to be.
    fn check(&self, sample: &Sample) -> Result<(u32, usize), String> {
        let whole = whole(sample);
        let far = match self.from {
            Side::Client => &self.server.outlet,
            Side::Server => &self.client.outlet,
        };
        let arrival = far.open(&whole);
        let wrong = |what: &str| format!("{what} arrived:\n{}", lab::view::hex(&whole));
        if !far.may_leave(&arrival) {
            return Err(wrong("a packet in other headers"));
        }
        let length = arrival.frame.len();
        if !self.lengths.contains(&length) {
            return Err(wrong(&format!("a packet of {length} bytes")));
        }
        let flow = self.kind.flow_of(&arrival.frame);
        let flow = flow.ok_or_else(|| wrong("a packet of no flow"))?;
        let kind = Kind {
            length,
            ..self.kind
        };
        let sent = match self.from {
            Side::Client => kind.sent(flow),
            Side::Server => kind.sent_back(flow),
        };
        match sent == arrival.frame {
            true => Ok((flow, length)),
            false => Err(wrong(&format!(
                "instead of\n{}a packet",
                lab::view::hex(&sent)
            ))),
        }
    }
}

/// A sample may lack the end of the payload, which is all one byte, and its outermost tag.
fn whole(sample: &Sample) -> Vec<u8> {
    let mut frame = sample.head.clone();
    frame.resize(sample.length as usize, FILLER);
    if let Some((tpid, tci)) = sample.tag {
        let tag = [tpid.to_be_bytes(), tci.to_be_bytes()].concat();
        frame.splice(12..12, tag);
    }
    frame
}
