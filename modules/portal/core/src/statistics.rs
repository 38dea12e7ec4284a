//! Statistics per day: guests, time online and bytes. Pure.
//!
//! Devices are distinguished only within a day, so that no device counts twice: by marks made with
//! a key of that day. Key and marks are removed with the day.
//!
//! The file has lines as in [`crate::journal`]: the last line of a day counts.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::str::FromStr;

use kernel::Mac;
use ring::hmac::{HMAC_SHA256, Key, sign};
use serde::{Deserialize, Serialize};

use crate::journal;
use net::mac::text as mac_text;

/// Days that are kept.
pub const MOST_DAYS: usize = 400;
/// Maximum number of distinct devices per day: further devices are not counted as guests.
const MOST_DEVICES: usize = 65_536;

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Date {
    /// Year, such as 2026.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl FromStr for Date {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "invalid day: write it as 2026-12-31";
        let mut parts = text.splitn(3, '-').map(str::parse::<u16>);
        let mut part = || parts.next().and_then(Result::ok).ok_or(wrong);
        let (year, month, day) = (part()?, part()?, part()?);
        let narrow = |number: u16, most: u8| u8::try_from(number).ok().filter(|n| *n <= most);
        Ok(Self {
            year,
            month: narrow(month, 12).ok_or(wrong)?,
            day: narrow(day, 31).ok_or(wrong)?,
        })
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

impl TryFrom<String> for Date {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Totals of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Devices that were in.
    pub guests: u64,
    /// Number of log-ins.
    pub log_ins: u64,
    /// Seconds with traffic, of all devices together.
    pub seconds: u64,
    /// Bytes that the guests sent and received.
    pub bytes: u64,
    /// Vouchers that were sold.
    pub sold: u64,
}

/// Mark that identifies a device within a day.
type Mark = [u8; 8];

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    Day(Date, Day),
    /// Marks of a day, and their key.
    Seen(Date, [u8; 16], Vec<Mark>),
}

/// The day that it is.
#[derive(Clone, Debug)]
struct Today {
    date: Date,
    key: [u8; 16],
    seen: HashSet<Mark>,
    /// Marks that are not written yet.
    fresh: Vec<Mark>,
    /// True if an entry is not written yet.
    changed: bool,
}

/// All days.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    days: BTreeMap<Date, Day>,
    /// The last known day.
    today: Option<Today>,
    /// True while the date is known.
    known: bool,
}

impl Statistics {
    /// Reads a file. Also returns the number of damaged lines.
    pub fn read(octets: &[u8]) -> (Self, usize) {
        let mut figures = Self::default();
        let mut damaged = 0;
        for line in octets.split_inclusive(|octet| *octet == b'\n') {
            let text = line.strip_suffix(b"\n");
            match text.and_then(journal::of_line) {
                Some(Entry::Day(date, day)) => {
                    figures.days.insert(date, day);
                }
                Some(Entry::Seen(date, key, marks)) => {
                    if figures
                        .today
                        .as_ref()
                        .is_none_or(|today| today.date != date)
                    {
                        figures.today = Some(Today::new(date, key));
                    }
                    if let Some(today) = &mut figures.today {
                        today.seen.extend(marks);
                    }
                }
                None => damaged += 1,
            }
        }
        figures.trim();
        (figures, damaged)
    }

    /// Starts this day; `None`: the date is unknown, and nothing counts. `key` generates the marks
    /// of the day. Returns true if the day changed: then the caller must forget the devices of the
    /// day before.
    pub fn start_day(&mut self, date: Option<Date>, key: impl FnOnce() -> [u8; 16]) -> bool {
        self.known = date.is_some();
        let before = self.today.as_ref().map(|today| today.date);
        // A router without a clock may know in a minute that it is still the same day.
        let Some(date) = date.filter(|date| before != Some(*date)) else {
            return false;
        };
        self.today = Some(Today::new(date, key()));
        self.days.entry(date).or_default();
        self.trim();
        true
    }

    /// Removes the oldest days.
    fn trim(&mut self) {
        while self.days.len() > MOST_DAYS {
            self.days.pop_first();
        }
    }

    /// Returns the current day.
    fn now(&mut self) -> Option<&mut Today> {
        self.today.as_mut().filter(|_| self.known)
    }

    fn change(&mut self, change: impl FnOnce(&mut Day)) {
        if let Some(today) = self.today.as_mut().filter(|_| self.known) {
            today.changed = true;
            change(self.days.entry(today.date).or_default());
        }
    }

    /// Counts an admitted device.
    fn count_device(&mut self, mac: &Mac) {
        let Some(today) = self.now() else { return };
        let mark = today.mark(mac);
        if today.seen.len() < MOST_DEVICES && today.seen.insert(mark) {
            today.fresh.push(mark);
            self.change(|day| day.guests += 1);
        }
    }

    /// Counts a log-in.
    pub fn logged_in(&mut self, mac: &Mac) {
        self.count_device(mac);
        self.change(|day| day.log_ins += 1);
    }

    /// Records that a device had traffic within the given number of seconds.
    pub fn was_online(&mut self, mac: &Mac, seconds: u64) {
        self.count_device(mac);
        self.change(|day| day.seconds = day.seconds.saturating_add(seconds));
    }

    /// Adds traffic of guests.
    pub fn moved(&mut self, bytes: u64) {
        self.change(|day| day.bytes = day.bytes.saturating_add(bytes));
    }

    /// Counts sold vouchers.
    pub fn sold(&mut self, vouchers: u64) {
        self.change(|day| day.sold += vouchers);
    }

    /// Returns all days, the oldest first.
    pub fn days(&self) -> impl Iterator<Item = (&Date, &Day)> {
        self.days.iter()
    }

    /// Returns the entries not written yet, as lines to append to the file; `None`: nothing.
    pub fn take_unwritten(&mut self) -> Option<String> {
        let today = self.today.as_mut().filter(|today| today.changed)?;
        today.changed = false;
        let fresh = std::mem::take(&mut today.fresh);
        let day = self.days.get(&today.date).copied().unwrap_or_default();
        let mut lines = journal::line(&Entry::Day(today.date, day));
        if !fresh.is_empty() {
            lines += &journal::line(&Entry::Seen(today.date, today.key, fresh));
        }
        Some(lines)
    }

    /// Returns the contents of the whole file.
    pub fn file(&mut self) -> String {
        let days = self.days.iter();
        let mut lines: String = days
            .map(|(date, day)| journal::line(&Entry::Day(*date, *day)))
            .collect();
        if let Some(today) = &mut self.today {
            today.changed = false;
            today.fresh.clear();
            let seen = today.seen.iter().copied().collect();
            lines += &journal::line(&Entry::Seen(today.date, today.key, seen));
        }
        lines
    }
}

impl Today {
    fn new(date: Date, key: [u8; 16]) -> Self {
        Self {
            date,
            key,
            seen: HashSet::new(),
            fresh: Vec::new(),
            changed: false,
        }
    }

    fn mark(&self, mac: &Mac) -> Mark {
        let tag = sign(&Key::new(HMAC_SHA256, &self.key), mac_text(mac).as_bytes());
        let mut mark = Mark::default();
        for (to, from) in mark.iter_mut().zip(tag.as_ref()) {
            *to = *from;
        }
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNA: Mac = [2, 0, 0, 0, 0, 1];
    const BERT: Mac = [2, 0, 0, 0, 0, 2];

    fn date(text: &str) -> Date {
        text.parse().expect("a day")
    }

    fn on(text: &str) -> Statistics {
        let mut figures = Statistics::default();
        assert!(figures.start_day(Some(date(text)), || [7; 16]));
        figures
    }

    fn day(figures: &Statistics, text: &str) -> Day {
        let date = date(text);
        let found = figures.days().find(|(one, _)| **one == date);
        found.map(|(_, day)| *day).expect("that day")
    }

    #[test]
    fn a_device_that_comes_twice_is_one_guest() {
        let mut figures = on("2026-11-24");
        figures.logged_in(&ANNA);
        figures.logged_in(&ANNA);
        figures.was_online(&BERT, 60);
        figures.moved(1000);
        figures.sold(3);
        let expected = Day {
            guests: 2,
            log_ins: 2,
            seconds: 60,
            bytes: 1000,
            sold: 3,
        };
        assert_eq!(day(&figures, "2026-11-24"), expected);
        assert!(!figures.start_day(Some(date("2026-11-24")), || [8; 16]));
        assert!(figures.start_day(Some(date("2026-11-25")), || [8; 16]));
        figures.was_online(&ANNA, 60);
        assert_eq!(day(&figures, "2026-11-25").guests, 1);
        assert_eq!(day(&figures, "2026-11-24"), expected);
    }

    /// Written totals survive a restart, and a device is recognised by its mark, not its address.
    #[test]
    fn it_goes_on_from_its_file() {
        let mut figures = on("2026-11-24");
        let mut file = figures.file();
        figures.logged_in(&ANNA);
        file += &figures.take_unwritten().expect("news");
        assert_eq!(figures.take_unwritten(), None);
        figures.was_online(&BERT, 60);
        file += &figures.take_unwritten().expect("news");
        assert!(!file.contains(&mac_text(&ANNA)) && !file.contains("2,0,0,0,0,1"));
        let whole = figures.file();
        for file in [&file, &whole] {
            let (mut again, damaged) = Statistics::read(file.as_bytes());
            assert_eq!(damaged, 0);
            assert!(!again.start_day(Some(date("2026-11-24")), || [9; 16]));
            again.logged_in(&ANNA);
            again.logged_in(&BERT);
            let now = day(&again, "2026-11-24");
            assert_eq!((now.guests, now.log_ins, now.seconds), (2, 3, 60));
        }
        // No mark of another day remains.
        figures.start_day(Some(date("2026-11-25")), || [9; 16]);
        let (_, line) = figures
            .file()
            .trim_end()
            .rsplit_once('\n')
            .map_or_else(Default::default, |(before, last)| {
                (before.to_owned(), last.to_owned())
            });
        assert!(line.ends_with(",[]]}"), "{line}");
    }

    /// A file truncated anywhere keeps its complete lines.
    #[test]
    fn a_torn_file_is_as_good_as_its_last_whole_line() {
        let mut figures = on("2026-11-24");
        let mut file = String::new();
        let mut guests = Vec::new();
        for number in 0..4_u8 {
            figures.logged_in(&[2, 0, 0, 0, 0, number]);
            file += &figures.take_unwritten().expect("news");
            guests.push(file.len());
        }
        for cut in 0..file.len() {
            let (read, damaged) = Statistics::read(&file.as_bytes()[..cut]);
            let known = read.days().next().map_or(0, |(_, day)| day.guests);
            let whole = guests.iter().filter(|end| **end <= cut).count() as u64;
            assert!((whole..=whole + 1).contains(&known), "{cut}");
            assert!(damaged <= 1);
        }
        let mut octets = file.into_bytes();
        octets[40] ^= 1;
        assert_eq!(Statistics::read(&octets).1, 1);
    }

    #[test]
    fn a_year_and_a_bit_is_kept() {
        let mut figures = Statistics::default();
        for number in 0..900_u16 {
            let date = Date {
                year: 2024 + number / 336,
                month: (number / 28 % 12 + 1) as u8,
                day: (number % 28 + 1) as u8,
            };
            figures.start_day(Some(date), || [7; 16]);
            figures.sold(u64::from(number));
        }
        assert_eq!(figures.days().count(), MOST_DAYS);
        assert_eq!(figures.days().next().map(|(_, day)| day.sold), Some(500));
        let (read, _) = Statistics::read(figures.file().as_bytes());
        assert_eq!(read.days().count(), MOST_DAYS);
    }

    #[test]
    fn without_a_day_nothing_counts() {
        let mut figures = on("2026-11-24");
        figures.logged_in(&BERT);
        let before = day(&figures, "2026-11-24");
        assert!(!figures.start_day(None, || [0; 16]));
        figures.logged_in(&ANNA);
        figures.moved(5);
        assert_eq!(day(&figures, "2026-11-24"), before);
        // The clock is correct again, and the devices of the day are recognised again.
        assert!(!figures.start_day(Some(date("2026-11-24")), || [0; 16]));
        figures.logged_in(&BERT);
        assert_eq!(day(&figures, "2026-11-24").guests, 1);
    }
}
