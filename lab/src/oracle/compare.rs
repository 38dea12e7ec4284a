//! Two rigs in lockstep.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use crate::frame::Frame;
use crate::generate::{Kind, Side, Step, Workload};
use crate::test_port::CapturedFrame;
use crate::{Error, Lab};

use super::plan::{Flowtable, Plan, Report, Start, plain};
use super::report::{DifferingOutput, InvolvedStep, Mismatch};
use super::rig::{HEARSAY, Output, Rig};
use super::rules::{self, Difference};

/// Longest wait for a frame that only one router has sent so far.
const LATE: Duration = Duration::from_secs(2);

/// Both routers and the report so far.
pub(super) struct Pair<'a> {
    workload: &'a Workload,
    a: Rig,
    b: Rig,
    report: Report,
    /// Sent packets, if [`Pair::remember`] was called.
    history: Option<Vec<InvolvedStep>>,
}

impl<'a> Pair<'a> {
    pub(super) fn new(plan: &Plan, start: Start, workload: &'a Workload) -> Result<Self, Error> {
        let options = plan.options();
        let ready = |lab: &Lab| match plan.flowtable {
            Flowtable::First => lab.flowtable(),
            Flowtable::Never | Flowtable::Later => Ok(()),
        };
        Ok(Self {
            workload,
            a: Rig::new(&options, &|lab| ready(lab).and_then(|()| plain(lab)))?,
            b: Rig::new(&options, &|lab| ready(lab).and_then(|()| start(lab)))?,
            report: Report::default(),
            history: None,
        })
    }

    /// Adds a flowtable to both routers.
    pub(super) fn flowtables(&self) -> Result<(), Error> {
        self.a.flowtable()?;
        self.b.flowtable()
    }

    pub(super) fn settle(&mut self, connections: usize) -> Result<(), Error> {
        self.b.settle(connections)
    }

    /// Records all packets from now on, so that a mismatch lists each one.
    pub(super) fn remember(&mut self) {
        self.history = Some(Vec::new());
    }

    /// Sends a batch through both routers and compares their outputs.
    pub(super) fn batch(&mut self, batch: &[&Step]) -> Result<(), Error> {
        let sent: Vec<_> = batch
            .iter()
            .map(|step| self.a.frame(self.workload, step))
            .collect();
        let involved = self.involved(batch);
        self.a.send(self.workload, batch)?;
        self.b.send(self.workload, batch)?;
        if batch.iter().any(|step| step.kind == Kind::Elsewhere) {
            // A bridge takes the station for moved until the barrier arrives from the old port.
            thread::sleep(HEARSAY);
        }
        let mut a = self.a.receive(self.workload, batch)?;
        let mut b = self
            .b
            .receive(self.workload, batch)
            .map_err(|error| self.while_sending(batch, error))?;
        self.equal(batch, &sent, &involved, &mut a, &mut b)?;
        if let Some(history) = &mut self.history {
            history.extend(involved);
        }
        self.report.sent += batch.len();
        for step in batch {
            *self.report.kinds.entry(step.kind).or_default() += 1;
            self.same_translation(step)?;
        }
        Ok(())
    }

    /// Compares the output after the last batch and returns the report.
    pub(super) fn finish(mut self, quiet: Duration) -> Result<Report, Error> {
        let mut a = self.a.drain(quiet)?;
        let mut b = self.b.drain(quiet)?;
        self.equal(&[], &[], &[], &mut a, &mut b)?;
        Ok(self.report)
    }

    /// Compares the outputs; waits for late frames while the outputs differ.
    fn equal(
        &mut self,
        batch: &[&Step],
        sent: &[Frame],
        involved: &[InvolvedStep],
        a: &mut Output,
        b: &mut Output,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + LATE;
        loop {
            let (rest_a, rest_b, forgiven) = self.forgive(batch, sent, a, b);
            let differing = self.differing(&rest_a, &rest_b);
            if differing.is_empty() {
                self.report.received += a.count();
                if forgiven > 0 {
                    *self
                        .report
                        .differences
                        .entry(Difference::BadChecksumForwarded)
                        .or_default() += forgiven;
                }
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Error::Differs(Box::new(self.mismatch(involved, differing))));
            }
            a.add(self.a.drain(Duration::from_millis(10))?);
            b.add(self.b.drain(Duration::from_millis(10))?);
        }
    }

    /// Removes natural differences, after checking each one exactly.
    fn forgive(
        &self,
        batch: &[&Step],
        sent: &[Frame],
        a: &Output,
        b: &Output,
    ) -> (Output, Output, usize) {
        let (mut rest_a, mut rest_b, mut forgiven) = (a.clone(), b.clone(), 0);
        for (step, sent) in batch.iter().zip(sent) {
            let flow = &self.workload.flows[step.flow];
            let Some(translation) = self.b.translation(step.flow) else {
                continue;
            };
            if !rules::checksum_wrong(sent) {
                continue;
            }
            let ends = rules::Ends::of(flow, translation);
            let Some(expected) = rules::translated(sent, step.side, &ends) else {
                continue;
            };
            let out = self.b.ends(step.side.other());
            let matches = |frame: &Frame| rules::same_but_checksum(sent, &expected, frame);
            let Some(at) = rest_b.find(&out, matches) else {
                continue;
            };
            // Without translation both routers send the frame alike, so there is nothing to
            // forgive. The connection's mark may choose another wire, though.
            if rest_a.find(&[at.0], matches).is_some() {
                continue;
            }
            rest_b.remove(at);
            forgiven += 1;
            let untranslated = rules::forwarded(sent, step.side).map(|frame| rules::filled(&frame));
            let left = rest_a.find(&out, |frame| Some(rules::filled(frame)) == untranslated);
            if let Some(at) = left {
                rest_a.remove(at);
            }
        }
        (rest_a, rest_b, forgiven)
    }

    fn mismatch(&self, involved: &[InvolvedStep], differing: Vec<DifferingOutput>) -> Mismatch {
        let mut steps = self.history.clone().unwrap_or_default();
        steps.extend(involved.iter().cloned());
        Mismatch {
            seed: self.workload.seed,
            steps,
            differing,
            shrunk: false,
            trouble: None,
        }
    }

    /// Returns the steps of a batch, with their frames as router A gets them.
    fn involved(&self, batch: &[&Step]) -> Vec<InvolvedStep> {
        let involved = |step: &&Step| {
            let (end, frame) = self.a.sealed(self.workload, step);
            InvolvedStep {
                step: step.number,
                flow: step.flow,
                side: step.side,
                at: self.a.outlet(end).name(),
                kind: step.kind,
                frame,
            }
        };
        batch.iter().map(involved).collect()
    }

    /// Returns the flows whose outputs differ, with the frames of both routers.
    fn differing(&self, a: &Output, b: &Output) -> Vec<DifferingOutput> {
        let mut found = Vec::new();
        let both = [Side::Client, Side::Server];
        for end in both.iter().flat_map(|side| self.a.ends(*side)) {
            let mut flows_a = rules::by_flow(a.at(end));
            let mut flows_b = rules::by_flow(b.at(end));
            let keys: BTreeSet<_> = flows_a.keys().chain(flows_b.keys()).copied().collect();
            let outlet = self.a.outlet(end);
            let shown = |frames: &[CapturedFrame]| frames.iter().map(|a| outlet.close(a)).collect();
            for key in keys {
                let of_a = flows_a.remove(&key).unwrap_or_default();
                let of_b = flows_b.remove(&key).unwrap_or_default();
                if of_a != of_b {
                    found.push(DifferingOutput {
                        side: outlet.side,
                        at: outlet.name(),
                        a: shown(&of_a),
                        b: shown(&of_b),
                    });
                }
            }
        }
        found
    }

    /// Adds the packets of the batch to the error if router B stopped forwarding.
    fn while_sending(&self, batch: &[&Step], error: Error) -> Error {
        let Error::Timeout(what) = error else {
            return error;
        };
        let steps: Vec<_> = batch
            .iter()
            .map(|step| format!("{} ({:?})", step.number, step.kind))
            .collect();
        Error::Timeout(format!(
            "{what}; WEIR_SEED={}, behind steps {}",
            self.workload.seed,
            steps.join(", ")
        ))
    }

    /// Checks that both kernels translate a flow alike. Every flow has its own ports, so two
    /// kernels choose alike; after a difference, later comparisons are meaningless.
    fn same_translation(&self, step: &Step) -> Result<(), Error> {
        let (a, b) = (self.a.translation(step.flow), self.b.translation(step.flow));
        if a == b {
            return Ok(());
        }
        Err(Error::Unexpected(format!(
            "seed {}: the routers translate flow {} differently, to {a:?} and {b:?}",
            self.workload.seed, step.flow
        )))
    }
}
