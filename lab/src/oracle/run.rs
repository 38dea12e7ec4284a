//! Runs steps through fresh labs, batch by batch.

use std::time::Duration;

use super::compare::Pair;
use super::plan::{Flowtable, Plan, Report, Start};
use crate::Error;
use crate::generate::{Kind, Step, Workload};

/// Runs a part of the workload through fresh labs.
pub fn run(
    plan: &Plan,
    start: Start,
    workload: &Workload,
    opening: &[&Step],
    steps: &[&Step],
    size: usize,
) -> Result<Report, Error> {
    let mut pair = Pair::new(plan, start, workload)?;
    let mut connections: Vec<_> = opening.iter().map(|step| step.flow).collect();
    connections.sort_unstable();
    connections.dedup();
    let (handshakes, proving): (Vec<&Step>, Vec<&Step>) =
        opening.iter().partition(|step| step.kind != Kind::Data);
    for part in [handshakes, proving] {
        for batch in batches(&part, size) {
            pair.batch(batch)?;
        }
        // The barrier's flow is one more connection.
        pair.settle(connections.len() + 1)?;
    }
    if plan.flowtable == Flowtable::Later {
        pair.flowtables()?;
    }
    if size == 1 {
        pair.remember();
    }
    for batch in batches(steps, size) {
        pair.batch(batch)?;
    }
    pair.finish(Duration::from_millis(100))
}

/// Cuts the steps into batches, in order.
fn batches<'a, 'b>(steps: &'b [&'a Step], size: usize) -> Vec<&'b [&'a Step]> {
    let mut batches = Vec::new();
    let mut rest = steps;
    while !rest.is_empty() {
        let fits = |length: usize| {
            rest[..length]
                .iter()
                .all(|step| together(step, rest[length]))
        };
        let mut length = 1;
        while length < rest.len().min(size.max(1)) && fits(length) {
            length += 1;
        }
        let (batch, more) = rest.split_at(length);
        batches.push(batch);
        rest = more;
    }
    batches
}

/// Returns true if two steps may be in flight together: if their order counts, any router keeps the
/// order.
fn together(a: &Step, b: &Step) -> bool {
    // A packet at another end may change the path of all later packets.
    if [a, b].iter().any(|step| step.kind == Kind::Elsewhere) {
        return false;
    }
    a.flow != b.flow || a.side == b.side && a.kind == Kind::Data && b.kind == Kind::Data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_order_and_never_mix_what_must_wait() {
        let workload = Workload::new(9, 4, 500);
        let steps: Vec<_> = workload.all().collect();
        let batches = batches(&steps, 8);
        let numbers: Vec<_> = batches
            .iter()
            .flat_map(|batch| batch.iter().map(|step| step.number))
            .collect();
        assert!(numbers.iter().copied().eq(0..steps.len()));
        for batch in batches {
            assert!(batch.len() <= 8);
            for (index, a) in batch.iter().enumerate() {
                assert!(batch[index + 1..].iter().all(|b| together(a, b)));
            }
        }
    }
}
