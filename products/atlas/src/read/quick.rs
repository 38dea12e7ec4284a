//! JSON as directories write it, taken apart in one go: four fifths of the time that serde_json
//! takes. Whatever is unusual (octets that are no JSON, a name with escapes, great depth) is no
//! error here: the file is left to serde_json then, which knows what to say of it.

use super::json::Context;
use super::tree::{Node, Slots};

/// Values within values.
const DEPTH: usize = 64;

/// The file is not for this reader.
#[derive(Debug)]
pub(super) struct Unusual;

type Done<T> = Result<T, Unusual>;

/// Reads all entries of a file.
pub(super) fn walk<'de>(text: &'de str, context: &mut Context<'_, 'de>) -> Done<()> {
    let mut file = Cursor { text, at: 0 };
    match file.next()? {
        b'{' => file.members(|file, name| {
            context.quick(Some(name), |root, slots| file.place(root, slots, 0))
        })?,
        b'[' => {
            file.items(|file, _| context.quick(None, |root, slots| file.place(root, slots, 0)))?
        }
        _ => return Err(Unusual),
    }
    file.blanks();
    match file.at == text.len() {
        true => Ok(()),
        false => Err(Unusual),
    }
}

/// Where in the file the reader is.
struct Cursor<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> Cursor<'de> {
    /// What a place within an entry has; gives whether that is anything at all, as
    /// [`super::json`]'s does.
    fn place(&mut self, node: &Node, slots: &mut Slots<'de>, depth: usize) -> Done<bool> {
        if let Some(slot) = node.slot {
            self.blanks();
            let begin = self.at;
            self.pass(depth)?;
            slots.put_json(slot, &self.text[begin..self.at]);
            return Ok(true);
        }
        slots.meet(node);
        let kind = match self.next()? {
            b'{' => {
                self.members(|file, name| match node.child(name.as_bytes()) {
                    Some(node) => file.place(node, slots, depth + 1).map(|_| ()),
                    None => file.pass(depth + 1),
                })?;
                return Ok(true);
            }
            b'[' => {
                let mut wanted = false;
                let mut count = 0;
                self.items(|file, index| {
                    count = index + 1;
                    match node.item(index) {
                        Some(node) => {
                            wanted = true;
                            file.place(node, slots, depth + 1).map(|_| ())
                        }
                        None => file.pass(depth + 1),
                    }
                })?;
                // One that ends where something is wanted has it, and it is nothing.
                if wanted || node.item(count).is_some() {
                    return Ok(true);
                }
                "a list"
            }
            first => {
                self.scalar(first)?;
                match first {
                    b'"' => "a text",
                    b't' | b'f' => "true or false",
                    b'n' => return Ok(false),
                    _ => "a number",
                }
            }
        };
        slots.wrong.push((node.path.clone(), kind));
        Ok(false)
    }

    /// Passes over a value.
    fn pass(&mut self, depth: usize) -> Done<()> {
        if depth > DEPTH {
            return Err(Unusual);
        }
        match self.next()? {
            b'{' => self.members(|file, _| file.pass(depth + 1)),
            b'[' => self.items(|file, _| file.pass(depth + 1)),
            first => self.scalar(first),
        }
    }

    /// The members of an object, of which the cursor is at the begin.
    fn members(&mut self, mut each: impl FnMut(&mut Self, &'de str) -> Done<()>) -> Done<()> {
        self.at += 1;
        if self.next()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.next()? != b'"' {
                return Err(Unusual);
            }
            let begin = self.at + 1;
            if self.string()? {
                return Err(Unusual);
            }
            let name = &self.text[begin..self.at - 1];
            if self.next()? != b':' {
                return Err(Unusual);
            }
            self.at += 1;
            each(self, name)?;
            if self.ends(b'}')? {
                return Ok(());
            }
        }
    }

    /// The items of a list, of which the cursor is at the begin.
    fn items(&mut self, mut each: impl FnMut(&mut Self, usize) -> Done<()>) -> Done<()> {
        self.at += 1;
        if self.next()? == b']' {
            self.at += 1;
            return Ok(());
        }
        for index in 0.. {
            each(self, index)?;
            if self.ends(b']')? {
                break;
            }
        }
        Ok(())
    }

    /// Passes over a comma, or what ends an object or a list; gives which.
    fn ends(&mut self, end: u8) -> Done<bool> {
        let next = self.next()?;
        self.at += 1;
        match next {
            b',' => Ok(false),
            next if next == end => Ok(true),
            _ => Err(Unusual),
        }
    }

    /// Passes over a value without others in it, which begins with `first`.
    fn scalar(&mut self, first: u8) -> Done<()> {
        let word = match first {
            b'"' => return self.string().map(|_| ()),
            b't' => "true",
            b'f' => "false",
            b'n' => "null",
            _ => return self.number(),
        };
        match self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            true => self.at += word.len(),
            false => return Err(Unusual),
        }
        Ok(())
    }

    /// Passes over a text; gives whether it has escapes.
    fn string(&mut self) -> Done<bool> {
        let octets = self.text.as_bytes();
        let mut escapes = false;
        self.at += 1;
        loop {
            self.at += plain(&octets[self.at..]);
            match octets.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escapes);
                }
                Some(b'\\') => {
                    escapes = true;
                    self.at += match octets.get(self.at + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u') => {
                            let digits = octets.get(self.at + 2..self.at + 6).ok_or(Unusual)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return Err(Unusual);
                            }
                            6
                        }
                        _ => return Err(Unusual),
                    };
                }
                _ => return Err(Unusual),
            }
        }
    }

    fn number(&mut self) -> Done<()> {
        self.at += usize::from(self.now() == Some(b'-'));
        match self.now() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.now() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.now() {
            self.at += 1;
            self.at += usize::from(matches!(self.now(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    /// Passes over digits, one at least.
    fn digits(&mut self) -> Done<()> {
        let octets = &self.text.as_bytes()[self.at..];
        let count = octets.iter().take_while(|octet| octet.is_ascii_digit());
        match count.count() {
            0 => Err(Unusual),
            count => {
                self.at += count;
                Ok(())
            }
        }
    }

    fn now(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The octet after blanks, which is not passed over.
    fn next(&mut self) -> Done<u8> {
        self.blanks();
        self.now().ok_or(Unusual)
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.now() {
            self.at += 1;
        }
    }
}

/// How many octets there are before one that ends a text, begins an escape, or is not allowed:
/// eight are looked at at once.
fn plain(octets: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    for eight in octets.as_chunks::<8>().0 {
        let eight = u64::from_le_bytes(*eight);
        let none = |octet: u8| {
            let differs = eight ^ (ONES * u64::from(octet));
            differs.wrapping_sub(ONES) & !differs
        };
        let control = eight.wrapping_sub(ONES * 0x20) & !eight;
        let found = (none(b'"') | none(b'\\') | control) & HIGH;
        // What is found above the lowest may be there by what was borrowed.
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = octets[at..].iter();
    at + rest
        .take_while(|octet| !matches!(octet, b'"' | b'\\' | 0..0x20))
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entry::Draft;
    use super::super::json::{quick, walk};
    use super::super::mapping::Mapping;
    use super::super::remarks::Remarks;
    use crate::snapshot::Remark;

    const SAMPLE: &str = r#"{"a": {"name": "A \"x\" é", "state":{"nodes":12,"lastchange":"2019-10-10T01:02:03Z"},
        "location":{"geoCode":{"lat":1.5,"lon":-2e1},"city":["B",1]},"x":[true,false,null,{"y":[[]]}]},
        "b":{"name":"\ud83d","state":[0,1],"techDetails":{"routing":["olsr","batman-adv"]},"mtime":7},
        "c":null,"d":[],"e":"text","f":{}}"#;

    type Read = Option<(Vec<Draft>, Vec<Remark>)>;

    /// What the two readers make of a text.
    fn both(text: &str, mapping: &Mapping) -> (Read, Read) {
        let mut remarks = Remarks::default();
        let quick = quick(text, mapping, &mut remarks).map(|drafts| (drafts, remarks.done()));
        let mut remarks = Remarks::default();
        let slow = walk(text.as_bytes(), mapping, &mut remarks, false);
        (quick, slow.ok().map(|drafts| (drafts, remarks.done())))
    }

    #[test]
    fn the_usual_is_read_here() {
        let mapping = Mapping::named("freifunk").unwrap();
        for text in [SAMPLE, "{}", " [ ] ", r#"[{"name":"A"},7]"#] {
            let (quick, slow) = both(text, &mapping);
            assert!(quick.is_some(), "{text}");
            assert_eq!(quick, slow, "{text}");
        }
    }

    #[test]
    fn a_list_may_end_where_something_is_wanted() {
        let mapping = r#"title = "T"
            format = "json"
            fields = { name = ["name"], nodes = ["at.1"] }"#;
        let mapping = Mapping::parse(mapping, "a test").unwrap();
        for value in [
            "[]",
            "[1]",
            "[1,2]",
            "[1,2,3]",
            "[[1],[2]]",
            "{}",
            "7",
            "\"x\"",
            "null",
        ] {
            let text = format!("{{\"k\":{{\"name\":\"K\",\"at\":{value}}}}}");
            let (quick, slow) = both(&text, &mapping);
            assert!(quick.is_some(), "{text}");
            assert_eq!(quick, slow, "{text}");
        }
    }

    #[test]
    fn what_is_deep_is_left_to_the_other() {
        let mapping = Mapping::named("freifunk").unwrap();
        for (depth, here) in [(64, true), (65, false)] {
            let (begin, end) = ("[".repeat(depth), "]".repeat(depth));
            let text = format!("{{\"k\":{{\"x\":{begin}{end},\"name\":\"K\"}}}}");
            let (quick, slow) = both(&text, &mapping);
            assert_eq!((quick.is_some(), slow.is_some()), (here, true), "{depth}");
        }
    }

    #[test]
    fn what_is_no_json_is_not() {
        let mapping = Mapping::named("freifunk").unwrap();
        for value in [
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "tru",
            "nul",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" 1}",
            "[",
            "{",
            "",
        ] {
            for text in [
                format!("{{\"k\":{{\"x\":{value}}}}}"),
                format!("{{\"k\":{{\"name\":{value}}}}}"),
                format!("{{\"k\":{value}}}"),
            ] {
                assert_eq!(both(&text, &mapping), (None, None), "{text}");
            }
        }
        for text in ["{} x", "{}{}", "7", "", "{\"\\u0061\":{}}"] {
            assert_eq!(both(text, &mapping).0, None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn both_read_the_same(changes in proptest::collection::vec(
            (0usize..600, 0usize..4, any::<proptest::sample::Index>()), 0..4)
        ) {
            let mapping = Mapping::named("freifunk").unwrap();
            let mut text: Vec<char> = SAMPLE.chars().collect();
            for (at, much, what) in changes {
                let at = at.min(text.len());
                let until = (at + much).min(text.len());
                let new = ["", "{", "}", "[", "]", ",", ":", "\"", "\\", "0", "-", ".", "e", "null",
                    " ", "\n", "\u{1f}", "\\u00e9", "é", "\"name\":", "\u{80}",
                    "\"state\":{\"nodes\":5},", "\"state\":null,", ",\"location\":{\"city\":\"C\"}"];
                text.splice(at..until, what.get(&new).chars());
            }
            let text: String = text.into_iter().collect();
            let (quick, slow) = both(&text, &mapping);
            if quick.is_some() {
                prop_assert_eq!(quick, slow);
            }
        }
    }
}
