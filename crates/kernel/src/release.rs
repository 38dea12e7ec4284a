//! Version of the running kernel.

/// Returns the kernel's version string, `6.1.0-50-amd64`; empty if unknown.
pub fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Returns true if the kernel has at least this version: `[6, 3]`.
pub fn is_at_least(version: [u32; 2]) -> bool {
    numbers(&release()) >= Some(version)
}

/// The first two numbers of a version.
fn numbers(release: &str) -> Option<[u32; 2]> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || parts.next()?.parse().ok();
    Some([next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        for (release, expected) in [
            ("6.1.0-50-amd64", Some([6, 1])),
            ("5.15.167", Some([5, 15])),
            ("6.18-rc1", Some([6, 18])),
            ("", None),
            ("next", None),
        ] {
            assert_eq!(numbers(release), expected, "{release}");
        }
        assert!(is_at_least([5, 10]) && !is_at_least([99, 0]));
    }
}
