//! Names of files that have the time in them: `{year}{month}{day}-dir.json`.

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A name with a time in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
    /// Number of folders in the pattern.
    folders: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Octet(u8),
    /// Digits of fixed number, for one field of [`Fields`].
    Digits {
        field: usize,
        count: usize,
    },
    /// Anything, within a folder.
    Any,
}

/// Year, month, day, hour, minute, second, seconds since 1970.
type Fields = [Option<i64>; 7];

const WORDS: [(&str, usize); 7] = [
    ("year", 4),
    ("month", 2),
    ("day", 2),
    ("hour", 2),
    ("minute", 2),
    ("second", 2),
    ("unix", 10),
];

/// Endings of packed files, which comparisons ignore.
const PACKED: [&str; 5] = [".gz", ".xz", ".tar", ".tgz", ".txz"];

impl Pattern {
    /// Parses a pattern; the error has the reason.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let text = unpacked(text);
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '*']) {
            parts.extend(rest[..at].bytes().map(Part::Octet));
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix('*') {
                if parts.last() != Some(&Part::Any) {
                    parts.push(Part::Any);
                }
                rest = after;
                continue;
            }
            let Some((word, after)) = rest[1..].split_once('}') else {
                return Err(format!("{text:?} has a {{ without a }}"));
            };
            let Some(field) = WORDS.iter().position(|(known, _)| *known == word) else {
                let known = WORDS.map(|(word, _)| format!("{{{word}}}")).join(", ");
                return Err(format!(
                    "{text:?} has {{{word}}}; there are {known} and * for anything"
                ));
            };
            parts.push(Part::Digits {
                field,
                count: WORDS[field].1,
            });
            rest = after;
        }
        parts.extend(rest.bytes().map(Part::Octet));
        let folders = text.matches('/').count();
        Ok(Self { parts, folders })
    }

    /// Returns true if `name` fits, even with an invalid time.
    pub(crate) fn fits(&self, name: &str) -> bool {
        self.fields(self.compared(name)).is_some()
    }

    /// Returns the part of a name that is compared.
    fn compared<'n>(&self, name: &'n str) -> &'n [u8] {
        let name = unpacked(name);
        let begin = name.rmatch_indices('/').nth(self.folders);
        &name.as_bytes()[begin.map_or(0, |(at, _)| at + 1)..]
    }

    /// Returns the time of a fitting name, if it has one: seconds since 1970.
    pub(crate) fn time(&self, name: &str, zone: &TimeZone) -> Option<Option<i64>> {
        let fields = self.fields(self.compared(name))?;
        let [year, month, day, hour, minute, second, unix] = fields;
        if unix.is_some() {
            return Some(unix);
        }
        let Some(year) = year else {
            return Some(None);
        };
        let small = |value: Option<i64>, or: i8| value.map_or(Some(or), |v| i8::try_from(v).ok());
        let year = i16::try_from(year).ok()?;
        let (month, day) = (small(month, 1)?, small(day, 1)?);
        let (hour, minute, second) = (small(hour, 0)?, small(minute, 0)?, small(second, 0)?);
        let at = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
        Some(Some(zone.to_timestamp(at).ok()?.as_second()))
    }

    /// Returns a file's name for a time; `None`: the pattern has no day.
    pub(crate) fn name(&self, at: &Zoned) -> Option<String> {
        let mut name = Vec::new();
        let mut told = [false; WORDS.len()];
        for part in &self.parts {
            match *part {
                Part::Octet(octet) => name.push(octet),
                Part::Any => {}
                Part::Digits { field, count } => {
                    told[field] = true;
                    let value = match WORDS[field].0 {
                        "year" => i64::from(at.year()),
                        "month" => i64::from(at.month()),
                        "day" => i64::from(at.day()),
                        "hour" => i64::from(at.hour()),
                        "minute" => i64::from(at.minute()),
                        "second" => i64::from(at.second()),
                        _ => at.timestamp().as_second(),
                    };
                    name.extend(format!("{value:0count$}").into_bytes());
                }
            }
        }
        let [year, month, day, .., unix] = told;
        let told = unix || (year && month && day);
        told.then(|| String::from_utf8_lossy(&name).into_owned())
    }

    /// Matches a name. All parts but [`Part::Any`] have a fixed width: backtracking to the last one
    /// is enough.
    fn fields(&self, name: &[u8]) -> Option<Fields> {
        let mut fields = Fields::default();
        let (mut part, mut at) = (0, 0);
        let mut back = None;
        loop {
            let fits = match self.parts.get(part) {
                None if at == name.len() => return Some(fields),
                None => None,
                Some(Part::Any) => {
                    back = Some((part + 1, at));
                    Some(0)
                }
                Some(Part::Octet(octet)) => (name.get(at) == Some(octet)).then_some(1),
                Some(&Part::Digits { field, count }) => {
                    fields[field] = name.get(at..at + count).and_then(number);
                    fields[field].map(|_| count)
                }
            };
            match (fits, &mut back) {
                (Some(width), _) => (part, at) = (part + 1, at + width),
                (None, Some((after, from))) if name.get(*from).is_some_and(|o| *o != b'/') => {
                    *from += 1;
                    (part, at) = (*after, *from);
                }
                _ => return None,
            }
        }
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        Some(sum * 10 + digit)
    })
}

/// Removes the endings of packed files.
fn unpacked(mut name: &str) -> &str {
    while let Some(shorter) = PACKED.iter().find_map(|end| name.strip_suffix(end)) {
        name = shorter;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(pattern: &str, name: &str) -> Option<Option<i64>> {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        Pattern::read(pattern).unwrap().time(name, &zone)
    }

    #[test]
    fn times_are_read_in_the_zone() {
        let pattern = "{year}{month}{day}-{hour}.{minute}.{second}-ffSummarizedDir.json";
        // 02:00 in winter is 01:00 UTC, in summer 00:00.
        let winter = time(pattern, "20190103-02.00.07-ffSummarizedDir.json");
        assert_eq!(winter, Some(Some(1_546_477_207)));
        let summer = time(
            pattern,
            "a/b.tar.xz/20190703-02.00.00-ffSummarizedDir.json.tar.gz",
        );
        assert_eq!(summer, Some(Some(1_562_112_000)));
        for wrong in [
            "20191303-02.00.00-ffSummarizedDir.json",
            "20190103-02.00.00-ffSummarizedDir",
            "2019010é-02.00.00-ffSummarizedDir.json",
            "x20190103-02.00.00-ffSummarizedDir.json",
            "",
        ] {
            assert_eq!(time(pattern, wrong), None, "{wrong}");
        }
        let at = "2019-07-03T02:00:00[Europe/Berlin]".parse().unwrap();
        let name = Pattern::read(pattern).unwrap().name(&at);
        assert_eq!(
            name.as_deref(),
            Some("20190703-02.00.00-ffSummarizedDir.json")
        );
        assert_eq!(Pattern::read("dir.json").unwrap().name(&at), None);
    }

    #[test]
    fn other_patterns() {
        assert_eq!(time("d.json", "x/d.json.gz"), Some(None));
        assert_eq!(
            time("*-{unix}.csv", "a-b-1546477207.csv"),
            Some(Some(1_546_477_207))
        );
        let folders = time("{year}/{month}/dir-*.json", "in/2019/01/dir-xx.json");
        assert_eq!(folders, Some(Some(1_546_297_200)));
        assert_eq!(time("{year}/*.json", "2019/01/dir.json"), None);
        let stars = format!("{}b", "*a".repeat(60));
        assert_eq!(time(&stars, &"a".repeat(20_000)), None);
        for wrong in ["{year", "{weekday}"] {
            assert!(Pattern::read(wrong).is_err(), "{wrong}");
        }
    }
}
