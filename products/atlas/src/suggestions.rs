//! The name that was probably meant.

/// Returns the one of `names` nearest to `typed`, if near enough for a typing error: at most a
/// third of the letters differ, ignoring case.
pub(crate) fn nearest<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed = clipped(typed).to_lowercase();
    names
        .into_iter()
        .map(|name| {
            let plain = clipped(name).to_lowercase();
            let distance = strsim::osa_distance(&typed, &plain);
            (distance, plain.chars().count().div_ceil(3), name)
        })
        .filter(|(distance, most, _)| distance <= most)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., name)| name)
}

/// Truncates a text: the work grows with the square of the length.
fn clipped(text: &str) -> String {
    const LONGEST: usize = 64;
    text.chars().take(LONGEST).collect()
}

/// Returns a hint such as "; did you mean `growth`?", or an empty text.
pub(crate) fn meant<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(typed, names) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_nothing_else() {
        let names = ["growth", "top", "Aachen"];
        assert_eq!(nearest("grwoth", names), Some("growth"));
        assert_eq!(nearest("aachen", names), Some("Aachen"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("", []), None);
        assert_eq!(meant("tpo", names), "; did you mean `top`?");
        assert_eq!(nearest(&"x".repeat(1 << 20), names), None);
    }
}
