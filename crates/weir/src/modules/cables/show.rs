//! What is known of the ports, as it is answered.

use ::cables::Decision;
use answers::{Cable, CableEvidence};

use super::ports::word;
use super::watch::{Watch, Watched};

/// All of them, by name.
pub fn all(watch: &mut Watch) -> Vec<Cable> {
    let all = watch.shown().into_iter();
    all.map(|(port, decision)| one(port, decision)).collect()
}

fn one(port: &Watched, decision: Decision) -> Cable {
    let evidence = decision.evidence.into_iter().map(|clue| CableEvidence {
        kind: clue.kind.to_owned(),
        after: clue.after,
        text: clue.text,
    });
    Cable {
        device: port.device.clone(),
        link: port.up,
        role: decision.role.word().to_owned(),
        confidence: decision.confidence,
        evidence: evidence.collect(),
        decided: decision.decided,
        held_by: decision.held_by.map(str::to_owned),
        now: word(port.former()).to_owned(),
        why: decision.why,
        would_change: decision.would_change,
        notices: decision.notices.into_iter().map(|it| it.text).collect(),
    }
}
