//! Two rigs in lockstep.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::Error;
use crate::generate::{Side, Step, Workload};
use crate::wire::Frame;

use super::report::{Involved, Mismatch};
use super::rig::{Output, Rig};
use super::rules::{self, Difference};
use super::{Plan, Report, Start, plain};

/// How long a frame that only one router has sent so far is waited for.
const LATE: Duration = Duration::from_secs(2);

/// Router A, router B, and what was found so far.
pub(super) struct Pair<'a> {
    workload: &'a Workload,
    a: Rig,
    b: Rig,
    report: Report,
    /// See [`Pair::remember`].
    history: Option<Vec<Involved>>,
}

impl<'a> Pair<'a> {
    pub(super) fn new(plan: &Plan, start: Start, workload: &'a Workload) -> Result<Self, Error> {
        let options = plan.options();
        Ok(Self {
            workload,
            a: Rig::new(&options, &plain)?,
            b: Rig::new(&options, start)?,
            report: Report::default(),
            history: None,
        })
    }

    pub(super) fn settle(&mut self, connections: usize) -> Result<(), Error> {
        self.b.settle(connections)
    }

    /// From now on, keeps what is sent, so that a mismatch names all of it.
    pub(super) fn remember(&mut self) {
        self.history = Some(Vec::new());
    }

    /// Sends a batch through both and compares.
    pub(super) fn batch(&mut self, batch: &[&Step]) -> Result<(), Error> {
        let sent: Vec<_> = batch
            .iter()
            .map(|step| self.a.frame(self.workload, step))
            .collect();
        let mut a = self.a.run(self.workload, batch)?;
        let mut b = self
            .b
            .run(self.workload, batch)
            .map_err(|error| self.while_sending(batch, error))?;
        self.equal(batch, &sent, &mut a, &mut b)?;
        if let Some(history) = &mut self.history {
            history.extend(involved(batch, &sent));
        }
        self.report.sent += batch.len();
        for step in batch {
            *self.report.kinds.entry(step.kind).or_default() += 1;
            self.same_translation(step)?;
        }
        Ok(())
    }

    /// Whatever comes out after the last batch must be the same too.
    pub(super) fn finish(mut self, quiet: Duration) -> Result<Report, Error> {
        let mut a = self.a.drain(quiet)?;
        let mut b = self.b.drain(quiet)?;
        self.equal(&[], &[], &mut a, &mut b)?;
        Ok(self.report)
    }

    /// Compares, waiting for late frames as long as there is a difference.
    fn equal(
        &mut self,
        batch: &[&Step],
        sent: &[Frame],
        a: &mut Output,
        b: &mut Output,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + LATE;
        loop {
            let (rest_a, rest_b, forgiven) = self.forgive(batch, sent, a, b);
            let differing = differing(&rest_a, &rest_b);
            if differing.is_empty() {
                self.report.received += [Side::Client, Side::Server]
                    .map(|side| a.at(side).len())
                    .iter()
                    .sum::<usize>();
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
                return Err(Error::Differs(Box::new(
                    self.mismatch(batch, sent, differing),
                )));
            }
            a.add(self.a.drain(Duration::from_millis(10))?);
            b.add(self.b.drain(Duration::from_millis(10))?);
        }
    }

    /// Takes out natural differences, each after checking that it is exactly that.
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
            let client = (flow.client(), flow.client_port);
            let Some(expected) = rules::translated(sent, step.side, client, translation) else {
                continue;
            };
            let out = step.side.other();
            let matches = |frame: &Frame| rules::same_but_checksum(sent, &expected, frame);
            // Where nothing is translated, both routers send it alike and there is nothing to forgive.
            let Some(at) = rest_b.at(out).iter().position(matches) else {
                continue;
            };
            if rest_a.at(out).iter().any(matches) {
                continue;
            }
            rest_b.remove(out, at);
            forgiven += 1;
            let untranslated = rules::forwarded(sent, step.side).map(|frame| rules::filled(&frame));
            let left = rest_a
                .at(out)
                .iter()
                .position(|frame| Some(rules::filled(frame)) == untranslated);
            if let Some(at) = left {
                rest_a.remove(out, at);
            }
        }
        (rest_a, rest_b, forgiven)
    }

    fn mismatch(
        &self,
        batch: &[&Step],
        sent: &[Frame],
        differing: Vec<(Side, Vec<Frame>, Vec<Frame>)>,
    ) -> Mismatch {
        let mut steps = self.history.clone().unwrap_or_default();
        steps.extend(involved(batch, sent));
        Mismatch {
            seed: self.workload.seed,
            steps,
            differing,
            shrunk: false,
            trouble: None,
        }
    }

    /// Router B stopped forwarding: says behind which packets.
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

    /// Every flow has ports of its own, so two kernels choose alike. If they do not, nothing that follows means anything.
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

fn involved<'a>(batch: &'a [&Step], sent: &'a [Frame]) -> impl Iterator<Item = Involved> + 'a {
    batch.iter().zip(sent).map(|(step, frame)| Involved {
        step: step.number,
        flow: step.flow,
        side: step.side,
        kind: step.kind,
        frame: frame.clone(),
    })
}

/// The flows in which the outputs differ, with the frames of both.
fn differing(a: &Output, b: &Output) -> Vec<(Side, Vec<Frame>, Vec<Frame>)> {
    let mut found = Vec::new();
    for side in [Side::Client, Side::Server] {
        let mut flows_a = rules::by_flow(side, a.at(side));
        let mut flows_b = rules::by_flow(side, b.at(side));
        let keys: BTreeSet<_> = flows_a.keys().chain(flows_b.keys()).copied().collect();
        for key in keys {
            let of_a = flows_a.remove(&key).unwrap_or_default();
            let of_b = flows_b.remove(&key).unwrap_or_default();
            if of_a != of_b {
                found.push((side, of_a, of_b));
            }
        }
    }
    found
}
