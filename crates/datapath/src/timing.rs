//! Round trips of forwarded TCP: assigns timers and marks (bpf/include/timing.h), and reads the
//! measurements.

use std::time::{Duration, Instant};

use kernel::Protocol;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::error::Error;
use crate::headers;
use crate::ingress::Ingress;
use crate::mapped::{Mapped, handle};
use crate::skel::{WeirSkel, types};
use crate::table::Table;
use crate::translate::FlowEndpoints;

/// Connections that can be timed at once.
pub const TIMERS: u32 = headers::TIMERS_MAX as u32;
/// Maximum wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Round-trip time of one direction of a connection, from a segment to its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Time from a segment to its acknowledgement, microseconds.
    pub micros: u32,
    /// Port and encapsulation of incoming segments, without priorities.
    pub ingress: Ingress,
    /// Number of the segments' egress hop, see [`crate::Datapath::hops`].
    pub hop: u32,
    /// Endpoints of the segments at ingress and at egress.
    pub endpoints: Option<(FlowEndpoints, FlowEndpoints)>,
}

/// A connection that is timed.
#[derive(Clone, Copy)]
struct Timed {
    flow: u32,
    refs: [u32; 2],
    since: Instant,
    /// True if the result was reported, by direction.
    told: [bool; 2],
}

/// Timers of connections.
pub struct Timers {
    timers: Mapped<types::timer>,
    index: MapHandle,
    timed: Vec<Option<Timed>>,
}

impl Timers {
    pub fn new(path: &WeirSkel<'_>) -> Result<Self, Error> {
        Ok(Self {
            timers: Mapped::new(&path.maps.timers, TIMERS)?,
            index: handle(&path.maps.timed)?,
            timed: vec![None; TIMERS as usize],
        })
    }

    /// Times a connection with these records; returns false if no timer is free.
    fn begin(&mut self, flow: u32, refs: [u32; 2], table: &Table) -> Result<bool, Error> {
        let Some(free) = self.timed.iter().position(Option::is_none) else {
            return Ok(false);
        };
        let fresh = types::timer {
            r#ref: refs,
            ..Default::default()
        };
        self.timers.set(free as u32, fresh);
        self.timed[free] = Some(Timed {
            flow,
            refs,
            since: Instant::now(),
            told: [false; 2],
        });
        for (way, reference) in refs.into_iter().enumerate() {
            let place = free as u32 * 2 + way as u32;
            if let Err(error) = self.index.update(
                &reference.to_ne_bytes(),
                &place.to_ne_bytes(),
                MapFlags::ANY,
            ) {
                self.end(free, table);
                return Err(Error::bpf("time a connection", error));
            }
        }
        for reference in refs {
            table.mark(reference, true);
        }
        Ok(true)
    }

    /// Clears the marks, and frees the timer.
    fn end(&mut self, timer: usize, table: &Table) {
        let Some(timed) = self.timed[timer].take() else {
            return;
        };
        for reference in timed.refs {
            table.mark(reference, false);
            // An entry that is gone already is fine.
            let _ = self.index.delete(&reference.to_ne_bytes());
        }
    }

    /// Returns the timer of a connection.
    fn of(&self, flow: u32) -> Option<usize> {
        let known = |timed: &Option<Timed>| timed.is_some_and(|timed| timed.flow == flow);
        self.timed.iter().position(known)
    }

    /// See [`crate::Datapath::time`].
    pub fn time(&mut self, flow: u32, table: &Table) -> Result<bool, Error> {
        let Some(refs) = table.refs(flow) else {
            return Ok(false);
        };
        let tcp = |whose: &(FlowEndpoints, FlowEndpoints)| matches!(whose, (FlowEndpoints::Hosts(tuple), _) if tuple.protocol == Protocol::Tcp);
        if !table.whose(refs[0]).as_ref().is_some_and(tcp) {
            return Ok(false);
        }
        if self.of(flow).is_some() {
            for reference in refs {
                table.mark(reference, true);
            }
            return Ok(true);
        }
        self.begin(flow, refs, table)
    }

    /// Stops timing a connection.
    pub fn untime(&mut self, flow: u32, table: &Table) {
        if let Some(timer) = self.of(flow) {
            self.end(timer, table);
        }
    }

    /// Returns the number of timed connections.
    pub fn timed(&self) -> usize {
        self.timed.iter().flatten().count()
    }

    /// Reports measured round trips: see [`crate::Datapath::take_round_trips`].
    pub fn waits(&mut self, now: Instant, table: &Table, mut each: impl FnMut(RoundTrip)) {
        for timer in 0..self.timed.len() {
            let Some(timed) = &mut self.timed[timer] else {
                continue;
            };
            let ways = self.timers.get(timer as u32).unwrap_or_default().way;
            for (way, measured) in ways.iter().enumerate() {
                if measured.answered == 0 || std::mem::replace(&mut timed.told[way], true) {
                    continue;
                }
                let record = table.record(timed.refs[way]);
                each(RoundTrip {
                    micros: measured.wait,
                    ingress: Ingress::decode(record.r#in).without_priorities(),
                    hop: u32::from(record.hop),
                    endpoints: table.whose(timed.refs[way]),
                });
            }
            // As in timer_packet of bpf/include/timing.h.
            let over = |one: usize| {
                ways[one].answered != 0 && (timed.told[1 - one] || ways[1 - one].waiting == 0)
            };
            if over(0) || over(1) || now.duration_since(timed.since) >= PATIENCE {
                self.end(timer, table);
                continue;
            }
            // A witness that proved again cleared the marks.
            for reference in timed.refs {
                table.mark(reference, true);
            }
        }
    }
}
