//! The time zone of the system, by which days begin.
//!
//! Three sources are known, in this order: the variable `TZ` (POSIX.1 section 8.3: a rule such as
//! `CET-1CEST,M3.5.0,M10.5.0/3`, or the name of a zone file), `/etc/TZ` with the same contents
//! (OpenWrt, uClibc and BusyBox), and the compiled zone `/etc/localtime` (RFC 8536). Unusable
//! sources are skipped and reported; without a usable one, days are those of UTC.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use jiff::tz::TimeZone;

/// Folders of zone files. OpenWrt's packages use them too.
const ZONES: [&str; 2] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo"];
/// The largest zone file of tzdata 2025 has under 4 KiB.
const LARGEST: u64 = 256 * 1024;

/// Time zone, and its source.
#[derive(Clone, Debug)]
pub struct DetectedZone {
    /// The rules.
    pub zone: TimeZone,
    /// `TZ`, a path, or `none` for UTC.
    pub source: String,
    /// Unusable sources, one sentence each.
    pub skipped: Vec<String>,
}

/// Returns the zone of this system. Reads files: call it before the process confines itself, and
/// again at a reload.
pub fn system() -> DetectedZone {
    let variable = std::env::var("TZ").ok();
    find(variable.as_deref(), &|path| {
        let mut text = Vec::new();
        File::open(path)
            .ok()?
            .take(LARGEST)
            .read_to_end(&mut text)
            .ok()?;
        Some(text)
    })
}

/// Finds the zone with the given variable and files; `read` returns `None` for a missing file.
pub fn find(variable: Option<&str>, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> DetectedZone {
    let mut passed_over = Vec::new();
    let found = |zone, source: String, passed_over| DetectedZone {
        zone,
        source,
        skipped: passed_over,
    };
    // POSIX leaves an empty TZ open; all C libraries take it for UTC.
    if variable == Some("") {
        return found(TimeZone::UTC, "TZ".into(), passed_over);
    }
    if let Some(text) = variable {
        match meaning(text, read) {
            Some(zone) => return found(zone, "TZ".into(), passed_over),
            None => passed_over.push(format!(
                "invalid TZ={text:?}: neither a rule nor a zone file"
            )),
        }
    }
    let file = Path::new("/etc/TZ");
    if let Some(content) = read(file) {
        let text = String::from_utf8_lossy(&content);
        let text = text.trim();
        match meaning(text, read) {
            Some(zone) => return found(zone, "/etc/TZ".into(), passed_over),
            None => passed_over.push(format!(
                "invalid /etc/TZ {text:?}: neither a rule nor a zone file"
            )),
        }
    }
    let file = Path::new("/etc/localtime");
    if let Some(content) = read(file) {
        match TimeZone::tzif("localtime", &content) {
            Ok(zone) => return found(zone, "/etc/localtime".into(), passed_over),
            Err(error) => passed_over.push(format!("/etc/localtime: {error}")),
        }
    }
    found(TimeZone::UTC, "none".into(), passed_over)
}

/// Parses a rule, or the name of a zone file, with or without a colon before it.
fn meaning(text: &str, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<TimeZone> {
    let name = text.strip_prefix(':').unwrap_or(text);
    if name.is_empty() {
        return None;
    }
    if !text.starts_with(':')
        && let Ok(zone) = TimeZone::posix(name)
    {
        return Some(zone);
    }
    // LuCI writes names with blanks, `America/New York`.
    let name = name.replace(' ', "_");
    let path = Path::new(&name);
    let candidates: Vec<PathBuf> = if path.is_absolute() {
        vec![path.to_owned()]
    } else if path
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        ZONES
            .iter()
            .map(|directory| Path::new(directory).join(path))
            .collect()
    } else {
        return None;
    };
    let content = candidates.iter().find_map(|path| read(path))?;
    TimeZone::tzif(&name, &content).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn offset(zone: &TimeZone, at: i64) -> i32 {
        zone.to_offset(Timestamp::from_second(at).expect("a time"))
            .seconds()
    }

    const WINTER: i64 = 1_768_000_000;
    const SUMMER: i64 = 1_783_000_000;

    #[test]
    fn openwrt_keeps_a_rule_in_etc_tz() {
        let found = find(None, &|path| {
            (path == Path::new("/etc/TZ")).then(|| b"CET-1CEST,M3.5.0,M10.5.0/3\n".to_vec())
        });
        assert_eq!(found.source, "/etc/TZ");
        assert_eq!(offset(&found.zone, WINTER), 3600);
        assert_eq!(offset(&found.zone, SUMMER), 7200);
    }

    #[test]
    fn rules_with_signs_and_numbers_in_names() {
        for (text, seconds) in [
            ("UTC", 0),
            ("UTC0", 0),
            ("GMT0", 0),
            ("<+0545>-5:45", 20_700),
            ("<-03>3", -10_800),
        ] {
            let found = find(Some(text), &|path| {
                // `UTC` alone is not a rule: it is a file.
                (path == Path::new("/usr/share/zoneinfo/UTC"))
                    .then(|| std::fs::read(path).expect("a zone file"))
            });
            assert_eq!(found.source, "TZ", "{text}: {:?}", found.skipped);
            assert_eq!(offset(&found.zone, WINTER), seconds, "{text}");
        }
    }

    #[test]
    fn names_of_zone_files() {
        for text in [
            "Europe/Berlin",
            ":Europe/Berlin",
            "/usr/share/zoneinfo/Europe/Berlin",
        ] {
            let found = find(Some(text), &|path| std::fs::read(path).ok());
            assert_eq!(offset(&found.zone, SUMMER), 7200, "{text}");
        }
        let found = find(Some("America/New York"), &|path| std::fs::read(path).ok());
        assert_eq!(offset(&found.zone, WINTER), -18_000);
    }

    #[test]
    fn nonsense_is_passed_over_and_told() {
        for text in [
            "../../etc/passwd",
            "Mars/Olympus",
            ":",
            "\u{7f}\n",
            "CET-1CEST,M13",
        ] {
            let found = find(Some(text), &|path| match path.to_str() {
                Some("/etc/TZ") => Some(b"\xff\xfe".to_vec()),
                Some("/etc/localtime") => Some(b"TZif, but no more".to_vec()),
                _ => None,
            });
            assert_eq!(found.source, "none");
            assert_eq!(offset(&found.zone, SUMMER), 0);
            assert_eq!(found.skipped.len(), 3, "{:?}", found.skipped);
            assert!(found.skipped.iter().all(|said| !said.contains('\n')));
        }
    }

    #[test]
    fn nothing_at_all_is_utc() {
        let found = find(None, &|_| None);
        assert_eq!(found.source, "none");
        assert_eq!(offset(&found.zone, SUMMER), 0);
        assert_eq!(find(Some(""), &|_| None).source, "TZ");
    }
}
