//! The report, for people.

use std::io;

use super::CheckReport;
use crate::output::{Output, Tone, harmless};

impl CheckReport {
    /// Prints it: first what the kernel has, then the devices, then the firewall, then the verdict.
    pub fn print(&self, output: &mut Output<'_>) -> io::Result<()> {
        heading("Kernel", output)?;
        let name_width = self
            .features
            .iter()
            .map(|feature| feature.name.chars().count())
            .max()
            .unwrap_or_default();
        for feature in &self.features {
            let (tone, word) = match (feature.present, feature.required) {
                (true, _) => (Tone::Good, "yes    "),
                (false, true) => (Tone::Bad, "MISSING"),
                (false, false) => (Tone::Warn, "no     "),
            };
            let mark = output.toned(tone, word);
            let since = format!("(since {})", harmless(&feature.min_version));
            let (name, why) = (harmless(&feature.name), harmless(&feature.why_needed));
            output.line(&format!("  {mark}  {name:<name_width$}  {why} {since}"))?;
            if !feature.present {
                mend(feature.mend.as_deref(), output)?;
            }
        }

        heading("\nDevices", output)?;
        if self.devices.is_empty() {
            output.line("  none that forwards")?;
        }
        let name_width = self
            .devices
            .iter()
            .map(|device| device.name.chars().count())
            .max()
            .unwrap_or_default();
        for device in &self.devices {
            let mark = match device.hook {
                Some(hook) => output.toned(Tone::Good, &format!("{:<7}", hook.to_string())),
                None => output.toned(Tone::Warn, "none   "),
            };
            let (name, why) = (harmless(&device.name), harmless(&device.why));
            output.line(&format!("  {mark}  {name:<name_width$}  {why}"))?;
            mend(device.mend.as_deref(), output)?;
        }

        heading("\nFirewall", output)?;
        if self.firewall.is_empty() {
            output.line("  no rule has to see each packet")?;
        }
        for finding in &self.firewall {
            output.line(&format!(
                "  {}: {}",
                harmless(&finding.place),
                harmless(&finding.what)
            ))?;
            mend(finding.mend.as_deref(), output)?;
        }

        let verdict = if self.usable() {
            output.toned(Tone::Good, "\nWeir can work here.")
        } else {
            output.toned(Tone::Bad, "\nWeir cannot work here.")
        };
        output.line(&verdict)
    }
}

fn heading(text: &str, output: &mut Output<'_>) -> io::Result<()> {
    output.line(&output.toned(Tone::Bold, text))
}

fn mend(text: Option<&str>, output: &mut Output<'_>) -> io::Result<()> {
    match text {
        Some(text) => output.line(&format!("           mend: {}", harmless(text))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use api::Hook;

    use super::super::{Device, Feature, Finding};
    use super::*;

    fn report() -> CheckReport {
        CheckReport {
            features: vec![
                Feature {
                    name: "XDP".into(),
                    min_version: "4.8".into(),
                    present: true,
                    required: true,
                    why_needed: "Takes packets in the driver.".into(),
                    mend: None,
                },
                Feature {
                    name: "BTF".into(),
                    min_version: "5.2".into(),
                    present: false,
                    required: false,
                    why_needed: "Tells of drops.".into(),
                    mend: Some("build the kernel with CONFIG_DEBUG_INFO_BTF".into()),
                },
            ],
            devices: vec![Device {
                name: "wan\x1b0".into(),
                hook: Some(Hook::Tc),
                why: "The driver has no XDP.".into(),
                mend: None,
            }],
            firewall: vec![Finding {
                place: "chain forward".into(),
                what: "A limit counts packets.".into(),
                mend: None,
            }],
        }
    }

    fn printed(report: &CheckReport) -> String {
        let mut memory = Vec::new();
        report
            .print(&mut Output::to(&mut memory, false))
            .expect("memory");
        String::from_utf8(memory).expect("text")
    }

    #[test]
    fn reads_like_this() {
        assert_eq!(
            printed(&report()),
            "\
Kernel
  yes      XDP  Takes packets in the driver. (since 4.8)
  no       BTF  Tells of drops. (since 5.2)
           mend: build the kernel with CONFIG_DEBUG_INFO_BTF

Devices
  tc       wan?0  The driver has no XDP.

Firewall
  chain forward: A limit counts packets.

Weir can work here.
"
        );
    }

    #[test]
    fn what_is_required_decides() {
        let mut wrong = report();
        assert!(wrong.usable(), "BTF is not required");
        wrong.features[0].present = false;
        assert!(!wrong.usable());
        assert!(
            printed(&wrong).contains("  MISSING  XDP")
                && printed(&wrong).ends_with("Weir cannot work here.\n")
        );
        let mut idle = report();
        idle.devices[0].hook = None;
        assert!(!idle.usable());
    }
}
