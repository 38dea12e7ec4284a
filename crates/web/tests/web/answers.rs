//! Checks the page's TypeScript types against the Rust types of the answers: writes each type with
//! all optional parts, and with none, into a file that the page's compiler checks.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::support::filled::{Fill, filled};
use answers::{
    CableEvents, Cables, Conditions, Conversations, Devices, Explanation, FlowList, History, Hop,
    PartProblem, Paths, PortalClients, PortalFigures, PortalPage, PortalVoucher, RadioLog,
    RadioPeers, Radios, SetupDetection, ShadowCounts, Status,
};
use api::Problem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use setup_core::messages::{SetupJoin, SetupOutcome, SetupPlan, SetupRouter};
use weir_web::SessionState;

const FILE: &str = "../../web/test/unit/answers.ts";

/// Sources of the page, by the names that its compiler knows.
const RADIO: &str = "@modules/radio/web/types";
const SETUP: &str = "@modules/setup/web/types";

/// Largest number of variants of the enums that the page distinguishes.
const TURNS: usize = 6;

/// Returns different fillings: everything, with each variant; without optional parts, in lists as
/// well; and with empty lists.
fn fillings() -> impl Iterator<Item = Fill> {
    let whole = (0..TURNS).map(|turn| (true, true, turn));
    let all = whole.chain([(false, true, 0), (false, false, 0)]);
    all.map(|(options, lists, turn)| Fill {
        options,
        lists,
        turn,
    })
}

/// Returns literals of TypeScript, without duplicates.
fn written<T: Serialize>(make: impl Fn(Fill) -> T) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for fill in fillings() {
        let value = serde_json::to_value(make(fill)).expect("JSON");
        let mut text = String::new();
        literal(&value, 1, &mut text);
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// Writes a literal with the narrowest types.
fn literal(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth + 1);
    match value {
        Value::String(one) => write!(text, "{} as const", Value::from(one.as_str())),
        Value::Array(items) if items.is_empty() => write!(text, "[]"),
        Value::Object(fields) if fields.is_empty() => write!(text, "{{}}"),
        Value::Array(items) => {
            text.push('[');
            for (number, item) in items.iter().enumerate() {
                text.push_str(if number > 0 { ", " } else { "" });
                literal(item, depth, text);
            }
            write!(text, "]")
        }
        Value::Object(fields) => {
            text.push_str("{\n");
            for (name, value) in fields {
                let _ = write!(text, "{indent}{}: ", Value::from(name.as_str()));
                literal(value, depth + 1, text);
                text.push_str(",\n");
            }
            write!(text, "{}}}", "  ".repeat(depth))
        }
        other => write!(text, "{other}"),
    }
    .expect("a string");
}

/// Returns a full status; fields of modules are in `more`.
fn status(fill: Fill) -> Status {
    let there = fill.options;
    Status {
        problems: Vec::from_iter(there.then(PartProblem::default)),
        version: filled(fill),
        started: filled(fill),
        uptime_seconds: filled(fill),
        netns: filled(fill),
        modules: filled(fill),
        starting: there,
        mode: filled(fill),
        armed: filled(fill),
        epoch: filled(fill),
        flows: filled(fill),
        hops: filled(fill),
        packets: filled(fill),
        fast_path_share: filled(fill),
        bumps: filled(fill),
        refused: filled(fill),
        lost_events: filled(fill),
        shadow: there.then_some(ShadowCounts::default()),
        drops: there.then(Default::default),
        multipath: filled(fill),
        monitor: there.then(Default::default),
        each_packet: filled(fill),
        heartbeat: filled(fill),
        more: Default::default(),
    }
}

fn of<T: Serialize + DeserializeOwned>() -> Vec<String> {
    written(filled::<T>)
}

#[test]
fn the_page_knows_what_is_answered() {
    let all = [
        ("Conditions", "@/api/types", of::<Conditions>()),
        ("Devices", "@/api/types", of::<Devices>()),
        ("Problem", "@/api/types", of::<Problem>()),
        ("Session", "@/api/types", of::<SessionState>()),
        ("Status", "@/api/types", written(status)),
        ("Cables", "@modules/cables/web/types", of::<Cables>()),
        (
            "CableEvents",
            "@modules/cables/web/types",
            of::<CableEvents>(),
        ),
        (
            "Explanation",
            "@modules/monitor/web/types",
            of::<Explanation>(),
        ),
        ("FlowList", "@modules/monitor/web/types", of::<FlowList>()),
        ("History", "@modules/monitor/web/types", of::<History>()),
        ("Hop", "@modules/monitor/web/types", of::<Hop>()),
        (
            "Conversations",
            "@modules/monitor/web/types",
            of::<Conversations>(),
        ),
        ("Paths", "@modules/multipath/web/types", of::<Paths>()),
        (
            "PortalClients",
            "@modules/portal/web/types",
            of::<PortalClients>(),
        ),
        (
            "PortalFigures",
            "@modules/portal/web/types",
            of::<PortalFigures>(),
        ),
        (
            "PortalPage",
            "@modules/portal/web/types",
            of::<PortalPage>(),
        ),
        (
            "PortalVoucher",
            "@modules/portal/web/types",
            of::<PortalVoucher>(),
        ),
        ("Radios", RADIO, of::<Radios>()),
        ("RadioLog", RADIO, of::<RadioLog>()),
        ("RadioPeers", RADIO, of::<RadioPeers>()),
        ("Setup", SETUP, of::<SetupRouter>()),
        ("Plan", SETUP, of::<SetupPlan>()),
        ("Applied", SETUP, of::<SetupOutcome>()),
        ("Detection", SETUP, of::<SetupDetection>()),
        ("Join", SETUP, of::<SetupJoin>()),
    ];
    let mut text = "// What the daemon's types write, with all that may be there, and with nothing that\n\
        // need not: written by crates/web/tests/web/answers.rs (WEIR_UPDATE_GOLDEN=1), held against the\n\
        // page's types by its compiler.\n"
        .to_owned();
    let mut sources: Vec<&str> = all.iter().map(|(_, source, _)| *source).collect();
    sources.dedup();
    for source in sources {
        let names = all.iter().filter(|(_, of, _)| *of == source);
        let names: Vec<&str> = names.map(|(name, ..)| *name).collect();
        let _ = writeln!(
            text,
            "import type {{ {} }} from \"{source}\";",
            names.join(", ")
        );
    }
    for (name, _, values) in &all {
        for (number, value) in values.iter().enumerate() {
            let _ = write!(text, "\nconst a{name}{number} = {value};\n");
            let _ = writeln!(
                text,
                "export const is{name}{number}: {name} = a{name}{number};"
            );
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        fs::write(&file, &text).expect("written");
    }
    let known = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        known == text,
        "{} is not what the types write now: WEIR_UPDATE_GOLDEN=1 writes it anew, and `npm run lint` \
            in web/ tells what the page has to know of it",
        file.display()
    );
}
