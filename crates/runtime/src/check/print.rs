//! Prints the report in 80 columns: one line for a good row, a hint as well for a problem.

use std::io;

use super::report::{CheckReport, Device, Feature, Finding};
use crate::output::{Output, Tone, WIDTH, sanitize, some_of, wrap};

/// Column at which names begin, behind the mark.
const INDENT: usize = 11;

/// Prints the report: the kernel, the devices, the firewall, then the verdict. `verbose`: also the
/// use of each feature, and minor findings in the firewall.
pub fn print(report: &CheckReport, verbose: bool, output: &mut Output<'_>) -> io::Result<()> {
    heading(&format!("Kernel {}", sanitize(&report.kernel)), output)?;
    for one in &report.features {
        feature(one, verbose, output)?;
    }

    heading(
        if report.running {
            "\nDevices, as the running daemon uses them"
        } else {
            "\nDevices, as a daemon would use them"
        },
        output,
    )?;
    if report.devices.is_empty() {
        output.line("  only the loopback")?;
    }
    for one in &report.devices {
        device(one, output)?;
    }

    heading("\nFirewall", output)?;
    let shown: Vec<&Finding> = report
        .firewall
        .iter()
        .filter(|finding| verbose || !finding.noted)
        .collect();
    for one in &shown {
        finding(one, output)?;
    }
    let noted = report.firewall.len() - shown.len();
    if !report.ruleset_read {
        let unread = "  cannot read the ruleset, so no rules are listed";
        output.line(&output.toned(Tone::Warn, unread))?;
    } else if shown.is_empty() {
        output.line("  no rule found that must see each packet")?;
    }
    if noted > 0 {
        output.line(&format!("  {noted} more, merely worth knowing: --verbose"))?;
    }
    output.line("")?;
    verdict(report, output)
}

fn verdict(report: &CheckReport, output: &mut Output<'_>) -> io::Result<()> {
    if report.usable() {
        let ports = match report.ports() {
            1 => "only 1 device; most routers have two".to_owned(),
            more => format!("{more} devices"),
        };
        let text = format!("Weir can work here, on {ports}.");
        return output.line(&output.toned(Tone::Good, &text));
    }
    let missing: Vec<_> = report.missing().map(|f| sanitize(&f.name)).collect();
    let why = if missing.is_empty() {
        "no device can be used".to_owned()
    } else {
        format!("required but missing: {}", missing.join(", "))
    };
    for line in wrap(&format!("Weir cannot work here: {why}."), WIDTH) {
        output.line(&output.toned(Tone::Bad, &line))?;
    }
    Ok(())
}

fn feature(feature: &Feature, verbose: bool, output: &mut Output<'_>) -> io::Result<()> {
    let (tone, word) = match (feature.present, feature.required) {
        (true, _) => (Tone::Good, "yes    "),
        (false, true) => (Tone::Bad, "MISSING"),
        (false, false) => (Tone::Warn, "no     "),
    };
    let since = feature
        .min_version
        .as_ref()
        .map(|version| format!(" (Linux {} or newer)", sanitize(version)));
    let name = sanitize(&feature.name);
    output.line(&format!(
        "  {}  {name}{}",
        output.toned(tone, word),
        output.toned(Tone::Dim, &since.unwrap_or_default())
    ))?;
    if verbose || !feature.present {
        paragraph("", &feature.why_needed, output)?;
    }
    for line in feature.detail.iter().flat_map(|detail| detail.lines()) {
        paragraph("", line, output)?;
    }
    hint(feature.hint.as_deref(), output)
}

fn device(device: &Device, output: &mut Output<'_>) -> io::Result<()> {
    let mark = match device.hook {
        Some(hook) => output.toned(Tone::Good, &format!("{:<7}", hook.to_string())),
        // Packets are not taken here, but at the lower device.
        None if !device.lower_devices.is_empty() => output.toned(Tone::Dim, "below  "),
        None => output.toned(Tone::Warn, "none   "),
    };
    output.line(&format!("  {mark}  {}", sanitize(&device.name)))?;
    paragraph("", &device.why, output)?;
    hint(device.hint.as_deref(), output)?;
    if !device.carries.is_empty() {
        paragraph("carries ", &some_of(&device.carries), output)?;
    }
    for note in &device.notes {
        paragraph("", &note.what, output)?;
        hint(note.hint.as_deref(), output)?;
    }
    Ok(())
}

fn finding(finding: &Finding, output: &mut Output<'_>) -> io::Result<()> {
    output.line(&format!("  {}", sanitize(&finding.place)))?;
    paragraph("", &finding.what, output)?;
    if let Some(statement) = &finding.statement {
        paragraph("", statement, output)?;
    }
    match finding.connections {
        Some(1) => paragraph(
            "",
            "leaves 1 connection to the kernel at the moment",
            output,
        )?,
        Some(more) => {
            let told = format!("leaves {more} connections to the kernel at the moment");
            paragraph("", &told, output)?;
        }
        None => {}
    }
    hint(finding.hint.as_deref(), output)
}

fn heading(text: &str, output: &mut Output<'_>) -> io::Result<()> {
    output.line(&output.toned(Tone::Bold, text))
}

fn hint(text: Option<&str>, output: &mut Output<'_>) -> io::Result<()> {
    text.map_or(Ok(()), |text| paragraph("Hint: ", text, output))
}

/// Indented text, `first` before its first line.
fn paragraph(first: &str, text: &str, output: &mut Output<'_>) -> io::Result<()> {
    let text = sanitize(&format!("{first}{text}"));
    for line in wrap(&text, WIDTH - INDENT) {
        output.line(&format!("{:INDENT$}{line}", ""))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use answers::Hook;

    use super::super::report::Note;
    use super::*;

    fn report() -> CheckReport {
        CheckReport {
            kernel: "6.1.0".into(),
            running: false,
            ruleset_read: true,
            features: vec![
                Feature {
                    name: "XDP programs".into(),
                    min_version: Some("4.8".into()),
                    present: true,
                    required: true,
                    why_needed: "An XDP program forwards packets in the driver.".into(),
                    detail: None,
                    hint: None,
                },
                Feature {
                    name: "BTF".into(),
                    min_version: Some("5.2".into()),
                    present: false,
                    required: false,
                    why_needed: "Tells of drops.".into(),
                    detail: None,
                    hint: Some(
                        "build the kernel with CONFIG_DEBUG_INFO_BTF, which makes it \
                        larger by a good deal"
                            .into(),
                    ),
                },
                Feature {
                    name: "memory".into(),
                    present: true,
                    detail: Some("4 MiB".into()),
                    ..Feature::default()
                },
            ],
            devices: vec![Device {
                name: "wan\x1b0".into(),
                hook: Some(Hook::Tc),
                why: "the driver has no XDP".into(),
                hint: None,
                lower_devices: vec![],
                carries: vec!["wan.7".into()],
                notes: vec![Note {
                    what: "outgoing traffic is left to the kernel".into(),
                    hint: Some("shape at the lowest device instead".into()),
                }],
            }],
            firewall: vec![
                Finding {
                    place: "inet t forward, handle 7".into(),
                    what: "a limit counts packets".into(),
                    statement: Some("{\"limit\":{}}".into()),
                    noted: false,
                    connections: Some(12),
                    hint: Some("match `ct state new`".into()),
                },
                Finding {
                    place: "inet t forward, handle 8".into(),
                    what: "a counter".into(),
                    statement: None,
                    noted: true,
                    connections: None,
                    hint: None,
                },
            ],
        }
    }

    fn printed(report: &CheckReport, verbose: bool) -> String {
        let mut memory = Vec::new();
        print(report, verbose, &mut Output::to(&mut memory, false)).expect("memory");
        String::from_utf8(memory).expect("text")
    }

    #[test]
    fn reads_like_this() {
        assert_eq!(
            printed(&report(), false),
            "\
Kernel 6.1.0
  yes      XDP programs (Linux 4.8 or newer)
  no       BTF (Linux 5.2 or newer)
           Tells of drops.
           Hint: build the kernel with CONFIG_DEBUG_INFO_BTF, which makes it
           larger by a good deal
  yes      memory
           4 MiB

Devices, as a daemon would use them
  tc       wan?0
           the driver has no XDP
           carries wan.7
           outgoing traffic is left to the kernel
           Hint: shape at the lowest device instead

Firewall
  inet t forward, handle 7
           a limit counts packets
           {\"limit\":{}}
           leaves 12 connections to the kernel at the moment
           Hint: match `ct state new`
  1 more, merely worth knowing: --verbose

Weir can work here, on only 1 device; most routers have two.
"
        );
        let verbose = printed(&report(), true);
        assert!(verbose.contains("An XDP program forwards packets in the driver."));
        assert!(verbose.contains("handle 8") && !verbose.contains("--verbose"));
    }

    #[test]
    fn what_is_required_decides() {
        let mut wrong = report();
        assert!(wrong.usable(), "BTF is not required");
        wrong.features[0].present = false;
        assert!(!wrong.usable());
        let text = printed(&wrong, false);
        assert!(
            text.contains("  MISSING  XDP programs")
                && text.ends_with("Weir cannot work here: required but missing: XDP programs.\n"),
            "{text}"
        );
        let mut idle = report();
        idle.devices[0].hook = None;
        assert!(!idle.usable());
        assert!(printed(&idle, false).ends_with("no device can be used.\n"));
        let mut unread = report();
        unread.ruleset_read = false;
        unread.firewall.clear();
        assert!(printed(&unread, false).contains("cannot read the ruleset"));
    }
}
