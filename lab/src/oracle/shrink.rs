//! Shrinks a batch that differs to the packet that causes the difference.

use std::collections::BTreeSet;

use crate::Error;
use crate::encapsulation::Encapsulation;
use crate::generate::{Step, Workload};

use super::plan::{Plan, Start};
use super::report::Mismatch;
use super::run::run;

/// Runs parts of the workload in fresh labs, one packet at a time, until no smaller part differs or
/// the attempts are used up. Returns the smallest mismatch found.
pub(super) fn shrink(plan: &Plan, start: Start, workload: &Workload, mut found: Mismatch) -> Error {
    let mut attempts = plan.attempts;
    let last = found
        .steps
        .iter()
        .map(|step| step.step)
        .max()
        .unwrap_or(usize::MAX);
    for flow in suspects(workload, &found) {
        let mut again = Again {
            plan,
            start,
            workload,
            attempts: &mut attempts,
        };
        let all: Vec<_> = workload
            .steps
            .iter()
            .filter(|step| step.flow == flow && step.number <= last)
            .collect();
        let smallest = again.smallest(flow, &all, last);
        match smallest {
            Ok(Some(smaller)) => return Error::Differs(Box::new(smaller)),
            Ok(None) => {}
            Err(error) => {
                found.trouble = Some(error.to_string());
                break;
            }
        }
    }
    Error::Differs(Box::new(found))
}

/// Returns the batch's flows, those with differing frames first. Ports identify flows before and
/// after translation.
fn suspects(workload: &Workload, found: &Mismatch) -> Vec<usize> {
    let ports: BTreeSet<u16> = found
        .differing
        .iter()
        .flat_map(|differing| differing.a.iter().chain(&differing.b))
        .filter_map(|frame| crate::view::View::of(&Encapsulation::open(frame).1)?.ports)
        .flat_map(|(from, to)| [from, to])
        .collect();
    let mut flows: Vec<_> = found.steps.iter().map(|step| step.flow).collect();
    flows.sort_unstable();
    flows.dedup();
    flows.sort_by_key(|flow| {
        let flow = &workload.flows[*flow];
        !(ports.contains(&flow.server_port) || ports.contains(&flow.client_port))
    });
    flows
}

struct Again<'a> {
    plan: &'a Plan,
    start: Start<'a>,
    workload: &'a Workload,
    attempts: &'a mut usize,
}

impl Again<'_> {
    /// Returns the smallest mismatch of one flow, if the flow differs alone.
    fn smallest(
        &mut self,
        flow: usize,
        all: &[&Step],
        last: usize,
    ) -> Result<Option<Mismatch>, Error> {
        let Some(mut best) = self.attempt(flow, all, last)? else {
            return Ok(None);
        };
        // Packets behind the one that caused the difference are superfluous. The next attempts
        // remove ever smaller parts before that packet, beginning with all.
        let guilty = best.steps.last().map_or(0, |step| step.step);
        let Some(at) = all.iter().position(|step| step.number == guilty) else {
            return Ok(Some(shrunk(best)));
        };
        let target = all[at];
        let mut before: Vec<&Step> = all[..at].to_vec();
        let mut chunk = before.len();
        while chunk > 0 {
            let mut from = 0;
            let mut removed = false;
            while from < before.len() {
                let to = (from + chunk).min(before.len());
                let mut fewer = [&before[..from], &before[to..]].concat();
                fewer.push(target);
                match self.attempt(flow, &fewer, last)? {
                    Some(smaller) if smaller.steps.last().map(|step| step.step) == Some(guilty) => {
                        best = smaller;
                        fewer.pop();
                        before = fewer;
                        removed = true;
                    }
                    _ => from = to,
                }
            }
            if !removed || chunk > before.len() {
                chunk = (chunk / 2).min(before.len());
            }
        }
        Ok(Some(shrunk(best)))
    }

    /// Opens the flow, sends the steps and returns the mismatch, if any.
    fn attempt(
        &mut self,
        flow: usize,
        steps: &[&Step],
        last: usize,
    ) -> Result<Option<Mismatch>, Error> {
        if *self.attempts == 0 {
            return Ok(None);
        }
        *self.attempts -= 1;
        let opening = self.workload.opening.iter();
        let opening: Vec<_> = opening
            .filter(|step| step.flow == flow && step.number <= last)
            .collect();
        match run(self.plan, self.start, self.workload, &opening, steps, 1) {
            Err(Error::Differs(found)) => Ok(Some(*found)),
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn shrunk(found: Mismatch) -> Mismatch {
    Mismatch {
        shrunk: true,
        ..found
    }
}
