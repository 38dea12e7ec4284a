//! Memory available to weir: the machine's, or less if a control group has a limit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::output::units;

/// A control group's limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The file with the limit.
    pub file: PathBuf,
    /// Bytes.
    pub octets: u64,
}

/// The lowest limit of the control groups that this process is in, if it is below the machine's
/// memory.
pub fn limit() -> Option<Limit> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let machine = meminfo("MemTotal").unwrap_or(u64::MAX);
    lowest(&groups, machine, |file| fs::read_to_string(file).ok())
}

/// A line of /proc/meminfo, bytes.
pub fn meminfo(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = text.lines().find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix(':')?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    })?;
    Some(kib * 1024)
}

/// Hint for a lack of memory.
pub fn hint() -> String {
    let fewer = "lower `flows` under [offload] and `size` under [monitor]";
    match limit() {
        Some(Limit { file, octets }) => format!(
            "{} allows weir {} of memory: raise the limit (in a service: MemoryMax=), or {fewer}",
            file.display(),
            units::bytes(octets)
        ),
        // `ip netns exec` covers the files with the limit.
        None => format!(
            "free some memory, or raise the limit of weir's control group (memory.max), or {fewer}"
        ),
    }
}

/// `groups`: /proc/self/cgroup, lines `NUMBER:CONTROLLERS:PATH` (cgroups(7)). A group is limited by
/// those above it, too.
fn lowest(groups: &str, machine: u64, read: impl Fn(&Path) -> Option<String>) -> Option<Limit> {
    let root = Path::new("/sys/fs/cgroup");
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (top, name) = if controllers.is_empty() {
            (root.to_owned(), "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        let group = top.join(path.trim_start_matches('/'));
        let up = group
            .ancestors()
            .take_while(|above| above.starts_with(&top));
        limits.extend(up.filter_map(|above| {
            let file = above.join(name);
            // "max" if there is no limit.
            let octets = read(&file)?.trim().parse().ok()?;
            Some(Limit { file, octets })
        }));
    }
    let below = limits.into_iter().filter(|limit| limit.octets < machine);
    below.min_by_key(|limit| limit.octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(groups: &str, files: &[(&str, &str)]) -> Option<(String, u64)> {
        let read = |file: &Path| {
            let of = files.iter().find(|(name, _)| Path::new(name) == file);
            of.map(|(_, text)| (*text).to_owned())
        };
        let limit = lowest(groups, 1 << 30, read)?;
        Some((limit.file.display().to_string(), limit.octets))
    }

    #[test]
    fn the_lowest_limit_counts_that_of_a_group_above_too() {
        let own = "/sys/fs/cgroup/system.slice/weir.service/memory.max";
        let above = "/sys/fs/cgroup/system.slice/memory.max";
        let groups = "0::/system.slice/weir.service\n";
        let said = |of: &str, octets| Some((of.to_owned(), octets));
        assert_eq!(
            found(groups, &[(own, "20971520\n"), (above, "max\n")]),
            said(own, 20 << 20)
        );
        assert_eq!(
            found(groups, &[(own, "20971520\n"), (above, "10485760\n")]),
            said(above, 10 << 20)
        );
        assert_eq!(found(groups, &[(own, "max\n")]), None);
        assert_eq!(
            found(groups, &[(own, "9223372036854771712\n")]),
            None,
            "more than there is"
        );
        assert_eq!(found(groups, &[]), None);
        assert_eq!(found("rubbish\n::\n", &[]), None);
    }

    #[test]
    fn the_first_version_of_control_groups_has_its_own_files() {
        let file = "/sys/fs/cgroup/memory/a/memory.limit_in_bytes";
        let groups = "5:devices:/a\n4:cpu,memory:/a\n0::/\n";
        assert_eq!(
            found(groups, &[(file, "1000\n")]),
            Some((file.to_owned(), 1000))
        );
    }
}
