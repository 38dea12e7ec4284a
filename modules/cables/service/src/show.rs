//! Converts the state of the ports to API answers.

use answers::{Cable, CableEvidence};
use cables_core::{Decision, Role, Use};

use super::observed_port::ObservedPort;
use super::system_state::word;
use super::watch::Watch;

/// Lists all ports by name.
pub fn all(watch: &mut Watch) -> Vec<Cable> {
    let missing: Vec<Cable> = watch.missing().map(no_device).collect();
    let all = watch.shown().into_iter();
    let mut all: Vec<Cable> = all.map(|(port, decision)| one(port, decision)).collect();
    // A renamed device is not listed as gone at once.
    let shown = |one: &Cable| all.iter().any(|it| it.device == one.device);
    let missing: Vec<Cable> = missing.into_iter().filter(|one| !shown(one)).collect();
    all.extend(missing);
    all.sort_by(|a, b| a.device.cmp(&b.device));
    all
}

/// Returns a port that is only in the configuration.
fn no_device(name: &str) -> Cable {
    Cable {
        device: name.to_owned(),
        link: false,
        role: Role::Unknown.word().to_owned(),
        confidence: 0,
        evidence: Vec::new(),
        decided: None,
        held_by: None,
        shut: false,
        moving: None,
        now: word(Use::None).to_owned(),
        why: format!("There is no device called {name}."),
        change_condition:
            "A device of this name, or another name under `ports` of [cables], would \
                       change it."
                .to_owned(),
        notices: Vec::new(),
    }
}

fn one(port: &ObservedPort, decision: Decision) -> Cable {
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
        change_condition: decision.change_condition,
        notices,
    }
}
