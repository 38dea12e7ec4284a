//! Suggests the name that was probably meant.

/// Returns the one of `names` nearest to `typed`, if the difference is small enough for a typing
/// error: at most a third of its letters.
pub(super) fn nearest<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    names
        .into_iter()
        .map(|name| (distance(&typed, name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into
/// the other.
fn distance(from: &str, to: &str) -> usize {
    // No name here is longer than that, and the work grows with the square.
    const LONGEST: usize = 64;
    let [from, to] = [from, to].map(|text| text.chars().take(LONGEST).collect::<String>());
    strsim::osa_distance(&from, &to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_slips() {
        for (from, to, steps) in [
            ("", "", 0),
            ("tcp", "tcp", 0),
            ("tpc", "tcp", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), steps, "{from} {to}");
            assert_eq!(distance(to, from), steps, "{to} {from}");
        }
    }

    #[test]
    fn suggests_slips_only() {
        let names = ["enabled", "tcp", "udp", "reprove"];
        assert_eq!(nearest("enable", names), Some("enabled"));
        assert_eq!(nearest("Enabled", names), Some("enabled"));
        assert_eq!(nearest("tpc", names), Some("tcp"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("", []), None);
    }
}
