//! The package `system`: the machine's name and its time zone.

use uci::Package;

use super::reader::{Diagnostics, sections};
use super::rendered::{Access, Content, RenderedFile};
use super::value;

/// Renders `/etc/hostname` and `/etc/localtime`.
pub fn render(package: &Package, files: &mut Vec<RenderedFile>, ledger: &Diagnostics) {
    for reader in sections(package, ledger) {
        if reader.kind() != "system" {
            reader.leave_out("not rendered");
            continue;
        }
        let name = reader.one("hostname", value::host, "a host name: letters, digits, -");
        if let Some(name) = name {
            files.push(RenderedFile {
                path: "etc/hostname".into(),
                content: Content::Text(format!("{name}\n")),
                access: Access::All,
            });
        }
        let zone = reader.one("zonename", value::zone, "a time zone: Europe/Berlin");
        match zone {
            // The equivalent in POSIX's format.
            Some(_) => reader.ignore(&["timezone"]),
            None if reader.has("timezone") => {
                reader.ignore(&["timezone"]);
                reader.note("timezone", "not rendered: Debian takes zonename");
            }
            None => {}
        }
        if let Some(zone) = zone {
            files.push(RenderedFile {
                path: "etc/localtime".into(),
                content: Content::Link(format!("/usr/share/zoneinfo/{zone}")),
                access: Access::All,
            });
        }
        reader.end();
    }
}
