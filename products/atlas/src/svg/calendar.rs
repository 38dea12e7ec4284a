//! Times as texts for readers, and the ticks of a time axis.

use jiff::civil::Date;

use crate::text::Language;
use crate::time::{Unit, day, hour_of};

/// A time at an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tick {
    pub(super) hour: i64,
    pub(super) label: String,
    /// Containing unit, if different from that of the tick before: the day of an hour, the month of
    /// a day, the year of a month.
    pub(super) part_of: Option<String>,
}

/// Step from one tick to the next.
#[derive(Clone, Copy)]
enum Step {
    Hours(i64),
    /// First day of a month, and days after it at this interval.
    Days(i64),
    Months(i64),
}

/// Steps, from the finest on.
const STEPS: [Step; 26] = [
    Step::Hours(1),
    Step::Hours(3),
    Step::Hours(6),
    Step::Hours(12),
    Step::Days(1),
    Step::Days(2),
    Step::Days(7),
    Step::Days(14),
    Step::Months(1),
    Step::Months(3),
    Step::Months(6),
    Step::Months(12),
    Step::Months(24),
    Step::Months(60),
    Step::Months(120),
    Step::Months(240),
    Step::Months(600),
    Step::Months(1200),
    Step::Months(2400),
    Step::Months(6000),
    Step::Months(12000),
    Step::Months(24000),
    Step::Months(60000),
    Step::Months(120000),
    Step::Months(240000),
    Step::Months(600000),
];

impl Step {
    fn hours(self) -> i64 {
        match self {
            Self::Hours(count) => count,
            Self::Days(count) => count * 24,
            Self::Months(count) => count * 730,
        }
    }

    /// Pixels that its label needs.
    fn room(self) -> f64 {
        match self {
            Self::Hours(_) => 54.0,
            Self::Days(_) => 30.0,
            Self::Months(count) if count < 12 => 40.0,
            Self::Months(_) => 37.0,
        }
    }
}

/// Returns times between two hours, as many as fit.
pub(super) fn ticks(from: i64, to: i64, width: f64, language: Language) -> Vec<Tick> {
    let hours = to.saturating_sub(from).max(1) as f64;
    let fits = |step: &Step| width / hours * step.hours() as f64 >= step.room();
    let step = STEPS.into_iter().find(fits).unwrap_or(STEPS[25]);
    let mut ticks = Vec::new();
    let mut before = None;
    for hour in times(step, from, to) {
        let date = day(hour);
        let (label, part_of) = match step {
            Step::Hours(_) => (clock(hour), Some(self::date(date, language))),
            Step::Days(_) => (
                format!("{}{}", date.day(), language.of("", ".")),
                Some(format!("{} {}", month(date, language), date.year())),
            ),
            Step::Months(count) if count < 12 => (
                month(date, language).to_owned(),
                Some(date.year().to_string()),
            ),
            Step::Months(_) => (date.year().to_string(), None),
        };
        let new = part_of != before;
        before.clone_from(&part_of);
        ticks.push(Tick {
            hour,
            label,
            part_of: part_of.filter(|_| new),
        });
    }
    ticks
}

/// Returns all times of a step from one hour to another, exclusive.
fn times(step: Step, from: i64, to: i64) -> Vec<i64> {
    let mut times = Vec::new();
    match step {
        Step::Hours(count) => {
            let first = from.div_euclid(count) * count;
            times.extend((0..200).map(|at| first + at * count));
        }
        Step::Days(count) => {
            let first = Unit::Day.number(from);
            for at in first..first.saturating_add(400).min(Unit::Day.number(to) + 1) {
                let hour = Unit::Day.begin(at);
                let nth = i64::from(day(hour).day()) - 1;
                // The last tick of a month must not be too near to the next month's first.
                if nth % count == 0 && nth + count / 2 < 30 {
                    times.push(hour);
                }
            }
        }
        Step::Months(count) => {
            let first = Unit::Month.number(from).div_euclid(count) * count;
            times.extend((0..200).map(|at| Unit::Month.begin(first + at * count)));
        }
    }
    times.retain(|hour| (from..to).contains(hour));
    times.dedup();
    times
}

/// Returns the range between two hours, the second one exclusive: `2014–2019`, `October 2019`,
/// `17 October 2019, 22:00 UTC`.
pub(super) fn span(from: i64, to: i64, language: Language) -> String {
    let last = to.saturating_sub(1).max(from);
    let (first, end) = (day(from), day(last));
    let whole_days = from.rem_euclid(24) == 0 && to.rem_euclid(24) == 0;
    let whole_months = whole_days && first.day() == 1 && day(to).day() == 1;
    if whole_months && first.month() == 1 && day(to).month() == 1 {
        return range(first.year().to_string(), end.year().to_string());
    }
    if whole_months {
        return range(long(first, language), long(end, language));
    }
    if whole_days {
        return range(date(first, language), date(end, language));
    }
    let hour = |hour| format!("{}, {}", date(day(hour), language), clock(hour));
    range(hour(from), hour(last)) + " UTC"
}

/// Returns the name of a point.
pub(super) fn point(hour: i64, by: Unit, language: Language) -> String {
    match by {
        Unit::Hour => format!("{}, {} UTC", date(day(hour), language), clock(hour)),
        Unit::Day => date(day(hour), language),
        Unit::Month => long(day(hour), language),
    }
}

/// Returns the possible hours of an axis: whole years of this calendar.
pub(super) fn bounded(from: i64, to: i64) -> (i64, i64) {
    let (least, most) = (
        hour_of(Date::constant(-9000, 1, 1)),
        hour_of(Date::constant(9000, 1, 1)),
    );
    let from = from.clamp(least, most);
    (from, to.clamp(from + 1, most + 1))
}

fn range(first: String, last: String) -> String {
    if first == last {
        first
    } else if first.contains(' ') {
        format!("{first} – {last}")
    } else {
        format!("{first}–{last}")
    }
}

fn clock(hour: i64) -> String {
    format!("{:02}:00", hour.rem_euclid(24))
}

fn date(date: Date, language: Language) -> String {
    let (day, month, year) = (date.day(), month(date, language), date.year());
    match language {
        Language::English => format!("{day} {month} {year}"),
        Language::German => format!("{day}. {month} {year}"),
    }
}

fn long(date: Date, language: Language) -> String {
    format!("{} {}", language.month(date.month()), date.year())
}

fn month(date: Date, language: Language) -> &'static str {
    const ENGLISH: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    const GERMAN: [&str; 12] = [
        "Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
    ];
    let nth = usize::from(date.month().unsigned_abs()) - 1;
    language.of(ENGLISH[nth], GERMAN[nth])
}

#[cfg(test)]
mod tests {
    use super::*;
    use Language::{English, German};

    fn hour(year: i16, month: i8, day: i8) -> i64 {
        hour_of(jiff::civil::date(year, month, day))
    }

    fn texts(from: i64, to: i64, width: f64, language: Language) -> String {
        let text = |tick: Tick| match tick.part_of {
            Some(part_of) => format!("{}/{part_of}", tick.label),
            None => tick.label,
        };
        let all: Vec<_> = ticks(from, to, width, language)
            .into_iter()
            .map(text)
            .collect();
        all.join(" ")
    }

    #[test]
    fn ticks_from_hours_to_decades() {
        let day = hour(2019, 10, 17);
        assert_eq!(
            texts(day + 18, day + 30, 300.0, German),
            "18:00/17. Okt 2019 21:00 00:00/18. Okt 2019 03:00"
        );
        assert_eq!(
            texts(day - 3 * 24, day + 20 * 24, 150.0, English),
            "15/Oct 2019 22 1/Nov 2019"
        );
        assert_eq!(
            texts(hour(2018, 11, 1), hour(2019, 8, 1), 200.0, English),
            "Jan/2019 Apr Jul"
        );
        assert_eq!(
            texts(hour(2013, 7, 1), hour(2026, 8, 1), 400.0, English),
            "2014 2016 2018 2020 2022 2024 2026"
        );
        assert_eq!(
            texts(hour(1900, 1, 1), hour(2100, 1, 1), 300.0, English),
            "1900 1950 2000 2050"
        );
    }

    #[test]
    fn ticks_are_few_and_there() {
        for hours in [
            1,
            2,
            5,
            24,
            100,
            1000,
            10_000,
            100_000,
            1_000_000,
            100_000_000,
        ] {
            for width in [60.0, 300.0, 900.0, 2400.0] {
                let (from, to) = bounded(hour(1990, 5, 17) + 5, hour(1990, 5, 17) + 5 + hours);
                let count = ticks(from, to, width, English).len();
                assert!(
                    count as f64 <= width / 28.0 + 2.0,
                    "{hours} {width}: {count}"
                );
                assert!(count > 0 || width < 200.0, "{hours} {width}");
            }
        }
        let (from, to) = bounded(i64::MIN, i64::MAX);
        assert!(!ticks(from, to, 900.0, English).is_empty());
    }

    #[test]
    fn spans() {
        let day = hour(2019, 10, 17);
        for (from, to, english) in [
            (hour(2014, 1, 1), hour(2020, 1, 1), "2014–2019"),
            (hour(2019, 1, 1), hour(2020, 1, 1), "2019"),
            (hour(2019, 10, 1), hour(2019, 11, 1), "October 2019"),
            (
                hour(2013, 7, 1),
                hour(2019, 11, 1),
                "July 2013 – October 2019",
            ),
            (day, day + 24, "17 Oct 2019"),
            (day + 22, day + 23, "17 Oct 2019, 22:00 UTC"),
            (
                day + 22,
                day + 25,
                "17 Oct 2019, 22:00 – 18 Oct 2019, 00:00 UTC",
            ),
        ] {
            assert_eq!(span(from, to, English), english);
        }
        assert_eq!(span(day, day + 24, German), "17. Okt 2019");
    }
}
