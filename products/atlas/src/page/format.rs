//! Numbers and times as people write them.

use crate::text::Language;
use crate::time::{self, Unit};

/// Formats a number: `0.5`; `0,5`.
pub(super) fn real(language: Language, number: f64) -> String {
    if !number.is_finite() {
        return "–".to_owned();
    }
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return language.whole(number as i64);
    }
    let text = match number.abs() {
        small if small < 1.0 => format!("{number:.2}"),
        _ => format!("{number:.1}"),
    };
    text.replace('.', language.of(".", ",")).replace('-', "−")
}

/// Formats a time: `2019-10`, `2019-10-17`, `2019-10-17 22:00`.
pub(super) fn time(by: Unit, hour: i64) -> String {
    let day = time::day(hour);
    match by {
        Unit::Month => format!("{:04}-{:02}", day.year(), day.month()),
        Unit::Day => day.to_string(),
        Unit::Hour => format!("{day} {:02}:00", hour.rem_euclid(24)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_them() {
        assert_eq!(real(Language::German, 0.126), "0,13");
        assert_eq!(real(Language::English, -12.26), "−12.3");
        assert_eq!(real(Language::English, f64::NAN), "–");
        assert_eq!(
            real(Language::English, -1200.0),
            Language::English.whole(-1200)
        );
        assert_eq!(real(Language::German, 1.0), "1");
        let hour = time::hour_of(jiff::civil::date(1969, 10, 7)) + 23;
        assert_eq!(time(Unit::Hour, hour), "1969-10-07 23:00");
        assert_eq!(time(Unit::Day, hour), "1969-10-07");
        assert_eq!(time(Unit::Month, hour), "1969-10");
    }
}
