//! What is known of the ports, as it is answered.

use ::cables::Decision;
use answers::{Cable, CableEvidence};

use super::ports::word;
use super::watch::Watch;
use super::watched::Watched;

/// All of them, by name.
pub fn all(watch: &mut Watch) -> Vec<Cable> {
    let all = watch.shown().into_iter();
    all.map(|(port, decision)| one(port, decision)).collect()
}

fn one(port: &Watched, decision: Decision) -> Cable {
    let mut notices: Vec<String> = decision.notices.into_iter().map(|it| it.text).collect();
    let moving = port.moving();
    notices.extend(
        moving
            .iter()
            .filter(|(_, see)| *see)
            .map(|(text, _)| text.clone()),
    );
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
        now: word(port.used()).to_owned(),
        shut: port.is_shut(),
        moving: moving.map(|(text, _)| text),
        why: decision.why,
        would_change: decision.would_change,
        notices,
    }
}
