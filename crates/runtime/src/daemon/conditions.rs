//! The registry of conditions: what needs attention, from all modules, and since when.
//!
//! Every second each module adds a [`Finding`] for each of its conditions
//! ([`Module::status`](super::Module::status)). The registry stores the start of a condition, and
//! shows the condition for some seconds after the last finding. The page translates [`TEXTS`].

use std::collections::BTreeMap;

use answers::{Condition, Conditions, Severity, Status};
use api::metrics::Exposition;

use super::router::Router;
use crate::output::dates::Moment;
use crate::output::units;

/// A condition that vanishes and returns within this many seconds keeps its first start.
const LINGERS: u64 = 10;
/// Seconds for which a condition is shown after the last finding. Some conditions come and go each
/// second.
const STAYS: u64 = 5;
/// Maximum number of listed conditions: the gravest. A client can cause any number of devices.
const MOST: usize = 256;

/// Key, severity and English text of every condition. A part in braces is a parameter.
pub const TEXTS: [(&str, Severity, &str); 28] = [
    ("part", Severity::Warning, "“{part}” does not work: {what}"),
    (
        "unwritten",
        Severity::Warning,
        "Cannot write {file}: the change is lost at the next restart.",
    ),
    (
        "heartbeat",
        Severity::Critical,
        "The daemon does not respond; the kernel forwards everything.",
    ),
    (
        "unarmed",
        Severity::Warning,
        "weir forwards nothing itself: it is not armed. The kernel forwards everything.",
    ),
    (
        "shadow",
        Severity::Hint,
        "weir only compares with the kernel (shadow mode) and forwards nothing itself.",
    ),
    (
        "offload-off",
        Severity::Hint,
        "The fast path is switched off: weir only counts, and the kernel forwards everything.",
    ),
    (
        "table-full",
        Severity::Warning,
        "The fast path has no room for more than {count} connections: the kernel forwards the others.",
    ),
    (
        "port-refused",
        Severity::Warning,
        "The kernel refuses the fast path at {port}: the kernel forwards the packets of this port.",
    ),
    (
        "no-uplink",
        Severity::Warning,
        "No port has a default route: this router does not reach the Internet.",
    ),
    (
        "uplinks-down",
        Severity::Critical,
        "No uplink works: this router does not reach the Internet.",
    ),
    (
        "uplink-no-link",
        Severity::Warning,
        "The uplink {port} is down: no link.",
    ),
    (
        "uplink-no-route",
        Severity::Warning,
        "The uplink {port} is down: it lost its default route.",
    ),
    (
        "uplink-silent",
        Severity::Warning,
        "The uplink {port} is down: its gateway {who} does not answer.",
    ),
    (
        "upload-full",
        Severity::Warning,
        "The upload of {port} is full at {rate}: packets wait {delay} longer than they have to.",
    ),
    (
        "download-full",
        Severity::Warning,
        "The download of {port} is full at {rate}: packets wait {delay} longer than they have to.",
    ),
    (
        "bloat",
        Severity::Hint,
        "{name} waits much longer while something is transferred (bufferbloat).",
    ),
    (
        "unplaced",
        Severity::Warning,
        "{count} packets at {port} found no free record: they count for their device, but for no conversation.",
    ),
    (
        "quota-warned",
        Severity::Warning,
        "{name} has used {share} of its quota: {used} of {limit}.",
    ),
    (
        "quota-exceeded",
        Severity::Warning,
        "{name} is over its quota: {used} of {limit}.",
    ),
    (
        "quota-cut",
        Severity::Critical,
        "{name} is cut off until {resets}: its quota of {limit} is used up.",
    ),
    (
        "loop",
        Severity::Critical,
        "A cable at {port} leads back to this router: the network has a loop.",
    ),
    (
        "foreign-dhcp",
        Severity::Critical,
        "Another DHCP server answers at {port}, a port of the LAN: {who}.",
    ),
    (
        "foreign-router",
        Severity::Warning,
        "Another IPv6 router advertises itself at {port}, a port of the LAN: {who}.",
    ),
    (
        "foreign-node",
        Severity::Warning,
        "A server or node of another network is at {port}, a port of the LAN: {who}.",
    ),
    (
        "port-missing",
        Severity::Warning,
        "The configuration names the port {port}, but no device has this name.",
    ),
    (
        "path-silent",
        Severity::Warning,
        "The partner does not answer over the uplink {port}.",
    ),
    (
        "partner-lost",
        Severity::Warning,
        "Cannot reach the partner {partner}: {what}",
    ),
    (
        "change-waits",
        Severity::Warning,
        "A change of the configuration is waiting for your confirmation; otherwise it is undone at {until}.",
    ),
];

/// A value of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A name, or other text.
    Text(String),
    /// Bytes.
    Bytes(u64),
    /// Bits a second.
    Rate(u64),
    /// Milliseconds.
    Millis(u64),
    /// A number.
    Count(u64),
    /// A share, 0 to 1 and more.
    Share(f64),
    /// Seconds since 1970, and the minutes by which local clocks are ahead of UTC then.
    Moment(u64, i32),
}

impl Value {
    /// Formats the value in full, for programs.
    fn full(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Bytes(number)
            | Self::Rate(number)
            | Self::Millis(number)
            | Self::Count(number) => number.to_string(),
            Self::Share(share) => format!("{share:.4}"),
            Self::Moment(unix, _) => unix.to_string(),
        }
    }

    /// Formats the value for people.
    fn short(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Bytes(number) => units::bytes(*number),
            Self::Rate(number) => units::rate(*number),
            Self::Millis(number) => format!("{number} ms"),
            Self::Count(number) => units::count(*number),
            Self::Share(share) => units::percent(*share),
            Self::Moment(unix, offset) => Moment::new(*unix, *offset).to_string(),
        }
    }
}

/// A condition, as a module sees it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    key: &'static str,
    module: &'static str,
    view: &'static str,
    subject: String,
    values: Vec<(&'static str, Value)>,
    hint: Option<String>,
}

impl Finding {
    /// Creates a finding with a key of [`TEXTS`], of this module, which links to this view of the
    /// page.
    pub fn new(key: &'static str, module: &'static str, view: &'static str) -> Self {
        Self {
            key,
            module,
            view,
            subject: String::new(),
            values: Vec::new(),
            hint: None,
        }
    }

    /// Sets the device, port or part that the condition concerns.
    pub fn of(mut self, subject: &str) -> Self {
        subject.clone_into(&mut self.subject);
        self
    }

    /// Sets the port that the condition concerns; the text names the port.
    pub fn at(self, port: &str) -> Self {
        self.of(port).with("port", Value::Text(port.to_owned()))
    }

    /// Adds a value to the text.
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.values.push((name, value));
        self
    }

    /// Adds advice.
    pub fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }

    /// Returns the key of the finding.
    pub fn key(&self) -> &'static str {
        self.key
    }

    fn id(&self) -> String {
        match self.subject.is_empty() {
            true => self.key.to_owned(),
            false => format!("{} {}", self.key, self.subject),
        }
    }

    fn condition(self, since: u64) -> Condition {
        let (severity, text) = TEXTS
            .iter()
            .find(|(key, ..)| *key == self.key)
            .map_or((Severity::Warning, self.key), |(_, severity, text)| {
                (*severity, *text)
            });
        Condition {
            id: self.id(),
            severity,
            key: self.key.to_owned(),
            text: fill(text, &self.values),
            parameters: self
                .values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.full()))
                .collect(),
            hint: self.hint,
            since,
            module: self.module.to_owned(),
            view: self.view.to_owned(),
            subject: self.subject,
        }
    }
}

/// Inserts values, each once: braces inside a value are not replaced again.
fn fill(text: &str, values: &[(&str, Value)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        filled.push_str(&value.map_or_else(String::new, |(_, value)| value.short()));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// A condition in the registry.
#[derive(Clone, Debug)]
struct Known {
    /// Start and last finding, in seconds of a clock that does not jump.
    began: u64,
    seen: u64,
    /// The last finding.
    finding: Finding,
}

/// Present conditions, with their starts.
#[derive(Debug, Default)]
pub struct Registry {
    /// By [`Finding::id`].
    known: BTreeMap<String, Known>,
    /// Time of the last update, by the clock of [`Known`]'s times.
    looked: u64,
    /// Start of that clock, in seconds since 1970.
    epoch: u64,
}

impl Registry {
    /// Takes all conditions at this second of a clock that does not jump. `epoch`: the start of
    /// that clock, in seconds since 1970, by the present time of day.
    pub fn update(&mut self, findings: Vec<Finding>, now: u64, epoch: u64) {
        self.looked = now;
        // A difference of a second is rounding. A larger one means that the time was set.
        if epoch.abs_diff(self.epoch) > 1 {
            self.epoch = epoch;
        }
        // Backwards: of several findings with one id, the first counts.
        for finding in findings.into_iter().rev() {
            let id = finding.id();
            let began = self.known.get(&id).map_or(now, |known| known.began);
            let known = Known {
                began,
                seen: now,
                finding,
            };
            self.known.insert(id, known);
        }
        self.known
            .retain(|_, known| now.saturating_sub(known.seen) < LINGERS);
    }

    /// Returns all conditions at this time, seconds since 1970; the gravest first, then the oldest.
    pub fn list(&self, unix: u64) -> Conditions {
        let since = |known: &Known| (self.epoch + known.began).min(unix);
        let all = self.known.values();
        let shown = all.filter(|known| self.looked.saturating_sub(known.seen) < STAYS);
        let mut conditions: Vec<Condition> = shown
            .map(|known| known.finding.clone().condition(since(known)))
            .collect();
        conditions.sort_by(|a, b| (a.severity, a.since, &a.id).cmp(&(b.severity, b.since, &b.id)));
        conditions.truncate(MOST);
        Conditions {
            now: unix,
            conditions,
        }
    }
}

/// Adds conditions of the packet path, and the problems of all parts. `status` holds the reports of
/// the modules.
pub fn own(router: &mut Router, shadow: bool, status: Status, findings: &mut Vec<Finding>) {
    for trouble in status.problems {
        let finding = Finding::new("part", "weir", "")
            .of(&trouble.part)
            .with("part", Value::Text(trouble.part.clone()))
            .with("what", Value::Text(trouble.what))
            .hint(&trouble.hint);
        findings.push(finding);
    }
    let of_path = |key| Finding::new(key, "offload", "");
    if !router.forwards || is_off(router.core.settings()) {
        return findings.push(of_path("offload-off"));
    }
    let limit = u64::from(router.path.options().silence);
    if router.beaten.elapsed().as_millis() > u128::from(limit) {
        findings.push(of_path("heartbeat"));
    }
    if !router.is_starting() && !router.path.heartbeat.armed() {
        findings.push(of_path("unarmed"));
    } else if shadow {
        findings.push(of_path("shadow"));
    }
    if let Some(count) = full(router.core.statistics()) {
        findings.push(of_path("table-full").with("count", Value::Count(count)));
    }
    let refused = router.core.ports();
    let refused = refused.filter(|plan| plan.reason == offload_core::PortReason::TcRefused);
    findings.extend(refused.map(|plan| of_path("port-refused").at(&plan.name)));
}

/// Counts the connections in the fast path, if others wait for room. The tables of the packet path
/// may be full before there are as many connections as the settings allow.
fn full(statistics: &offload_core::Statistics) -> Option<u64> {
    let waiting = statistics.declined[offload_core::DeclineReason::TableFull.index()];
    (waiting > 0).then_some(statistics.installed as u64)
}

/// Returns true if weir may forward nothing by these settings (`[offload] enabled = false`).
fn is_off(settings: &offload_core::Settings) -> bool {
    !settings.tcp && !settings.udp && !settings.bridge
}

api::metrics! {
    CONDITION "weir_condition" Gauge &["condition", "subject", "severity"],
        "1: this condition needs attention now.";
}

/// Writes the conditions for Prometheus.
pub fn write(text: &mut Exposition, conditions: &[Condition]) {
    text.family(CONDITION);
    for condition in conditions {
        let labels = [
            condition.key.as_str(),
            condition.subject.as_str(),
            condition.severity.name(),
        ];
        text.sample(CONDITION, &labels, 1);
    }
}

/// Returns the seconds since 1970 at present, with the registry.
pub fn shown(registry: &Registry) -> Conditions {
    registry.list(net::clock::unix_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(key: &'static str, port: &str) -> Finding {
        Finding::new(key, "cables", "cables").at(port)
    }

    #[test]
    fn a_condition_keeps_its_beginning_and_the_gravest_is_first() {
        let mut registry = Registry::default();
        registry.update(vec![finding("port-missing", "lan1")], 100, 999_840);
        let both = || vec![finding("port-missing", "lan1"), finding("loop", "lan2")];
        registry.update(both(), 160, 999_840);
        let shown = registry.list(1_000_000);
        let all: Vec<_> = shown
            .conditions
            .iter()
            .map(|it| (&*it.id, it.since))
            .collect();
        assert_eq!(
            all,
            [("loop lan2", 1_000_000), ("port-missing lan1", 999_940)]
        );
        assert_eq!(
            shown.conditions[0].text,
            "A cable at lan2 leads back to this router: the network has a loop."
        );
        // The conditions are gone for a moment only, and stay shown for a part of it.
        registry.update(Vec::new(), 164, 999_840);
        assert_eq!(
            registry.list(1_000_004),
            Conditions {
                now: 1_000_004,
                ..shown
            }
        );
        registry.update(Vec::new(), 165, 999_840);
        assert!(registry.list(1_000_005).conditions.is_empty());
        registry.update(both(), 168, 999_840);
        assert_eq!(registry.list(1_000_008).conditions[0].since, 1_000_000);
        // The conditions ended long ago: they begin again.
        registry.update(Vec::new(), 169, 999_840);
        registry.update(Vec::new(), 190, 999_840);
        registry.update(both(), 200, 999_840);
        assert_eq!(registry.list(1_000_040).conditions[0].since, 1_000_040);
    }

    /// Programs treat a condition with another start as another condition.
    #[test]
    fn a_beginning_stays_until_the_clock_is_set() {
        let mut registry = Registry::default();
        let since = |registry: &Registry, unix| registry.list(unix).conditions[0].since;
        let update = |registry: &mut Registry, now, epoch| {
            registry.update(vec![finding("loop", "lan2")], now, epoch);
        };
        // Queries come between two updates, too.
        for (now, epoch) in [
            (100, 999_900),
            (101, 999_901),
            (102, 999_899),
            (103, 999_900),
        ] {
            update(&mut registry, now, epoch);
            for unix in 999_900 + now..999_900 + now + 3 {
                assert_eq!(since(&registry, unix), 1_000_000, "{now} {unix}");
            }
        }
        // A router without a battery learns the time after its start.
        update(&mut registry, 104, 1_699_999_900);
        assert_eq!(since(&registry, 1_700_000_005), 1_700_000_000);
        // The time is set back after an update.
        assert_eq!(since(&registry, 999_999), 999_999);
        update(&mut registry, 105, 999_900);
        assert_eq!(since(&registry, 1_000_005), 1_000_000);
    }

    #[test]
    fn of_several_findings_of_one_condition_the_first_counts() {
        let mut registry = Registry::default();
        let hinted = |hint| finding("loop", "lan2").hint(hint);
        registry.update(vec![hinted("first"), hinted("second")], 100, 999_840);
        let shown = registry.list(1_000_000).conditions;
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].hint.as_deref(), Some("first"));
    }

    #[test]
    fn the_fast_path_is_off_if_it_may_forward_nothing() {
        let on = offload_core::Settings::default();
        assert!(!is_off(&on));
        let off = offload_core::Settings {
            tcp: false,
            udp: false,
            ..on
        };
        assert!(is_off(&off));
        let bridge = offload_core::Settings {
            bridge: true,
            ..off
        };
        assert!(!is_off(&bridge));
    }

    #[test]
    fn the_table_is_full_if_connections_wait_for_room() {
        let mut statistics = offload_core::Statistics {
            installed: 65_536,
            ..offload_core::Statistics::default()
        };
        assert_eq!(full(&statistics), None, "none waits");
        statistics.installed = 40_000;
        statistics.declined[offload_core::DeclineReason::TableFull.index()] = 1;
        assert_eq!(full(&statistics), Some(40_000), "of one family, say");
    }

    #[test]
    fn a_value_is_put_in_once() {
        let name = Value::Text("{used} {x".into());
        let values = [
            ("name", name),
            ("used", Value::Bytes(1536)),
            ("limit", Value::Bytes(1024)),
        ];
        assert_eq!(
            fill("{name} is over its quota: {used} of {limit}.", &values),
            "{used} {x is over its quota: 1.5 KiB of 1.0 KiB."
        );
    }

    /// The page and the documentation have each text by its key; the English texts are equal.
    #[test]
    fn the_page_has_every_text() {
        let told = include_str!("../../../../docs/reference/conditions.md");
        let page = include_str!("../../../../modules/monitor/web/text/en.ts");
        let page: String = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let page = page.replace("\" + \"", "");
        for (key, severity, text) in TEXTS {
            let row = format!("| `{key}` | {} | {text} |", severity.name());
            assert!(told.contains(&row), "{row}");
            let line = format!("\"condition.{key}\": \"{text}\",");
            assert!(page.contains(&line), "{line}");
        }
    }
}
