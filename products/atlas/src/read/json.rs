//! Parser of JSON directories. One walk of the entries finds the wanted paths; all other values are
//! skipped without allocation.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::entry::{self, Draft, ENTRIES, EntryReader, LEFT_OUT, TOO_MANY};
use super::mapping::Mapping;
use super::remarks::Remarks;
use super::tree::{Field, Node, Slots};
use super::utf8::{encoding, repaired};
use super::value::{RawBytes, Value, has_half, text};

/// Reads the entries of a file; the error has the reason.
pub(crate) fn read(
    octets: &[u8],
    mapping: &Mapping,
    remarks: &mut Remarks,
) -> Result<Vec<Draft>, String> {
    let octets = octets.strip_prefix(b"\xef\xbb\xbf").unwrap_or(octets);
    if octets.trim_ascii().is_empty() {
        return Err("the file is empty".to_owned());
    }
    if let Some(encoding) = encoding(octets) {
        let what = format!("the file is not JSON: it is {encoding}, and has to be UTF-8");
        return Err(what);
    }
    let mut first = Remarks::default();
    if let Ok(drafts) = walk(octets, mapping, &mut first, false) {
        *remarks = first;
        return Ok(drafts);
    }
    // A slower second attempt, in which a defect affects one entry only.
    let repaired = repaired(octets);
    let mut second = Remarks::default();
    if let Cow::Owned(_) = repaired {
        let what = "it is not UTF-8, or has control characters in its texts";
        second.file(what, "the file with others in their place");
    }
    match walk(&repaired, mapping, &mut second, true) {
        Ok(drafts) => {
            *remarks = second;
            Ok(drafts)
        }
        Err(error) => Err(match error.classify() {
            Category::Eof => format!("the file breaks off: {error}"),
            Category::Data => error.to_string(),
            _ => format!("the file is not JSON: {error}"),
        }),
    }
}

fn walk(
    octets: &[u8],
    mapping: &Mapping,
    remarks: &mut Remarks,
    patient: bool,
) -> serde_json::Result<Vec<Draft>> {
    let mut context = Context::new(mapping, remarks, patient);
    let mut file = serde_json::Deserializer::from_slice(octets);
    let way = &mapping.entries;
    let found = Way {
        way,
        context: &mut context,
    }
    .deserialize(&mut file)?;
    file.end()?;
    if !found {
        let what = match way.is_empty() {
            true => "the file is neither an object nor a list".to_owned(),
            false => format!("the file has no {}, or it is not a list", way.join(".")),
        };
        return Err(serde_json::Error::custom(what));
    }
    Ok(context.drafts)
}

/// Target of the parser.
struct Context<'c, 'de> {
    mapping: &'c Mapping,
    slots: Slots<'de>,
    drafts: Vec<Draft>,
    remarks: &'c mut Remarks,
    /// True if a malformed entry alone is skipped.
    patient: bool,
}

impl<'c, 'de> Context<'c, 'de> {
    fn new(mapping: &'c Mapping, remarks: &'c mut Remarks, patient: bool) -> Self {
        Self {
            mapping,
            slots: mapping.tree.slots(),
            drafts: Vec::new(),
            remarks,
            patient,
        }
    }

    /// Reads the next entry as a draft. `name`: as in [`Next`].
    fn entry<D: Deserializer<'de>>(
        &mut self,
        name: Option<(&str, bool)>,
        from: D,
    ) -> Result<(), D::Error> {
        if self.drafts.len() >= ENTRIES {
            return Err(D::Error::custom(TOO_MANY));
        }
        self.slots.clear();
        let root = &self.mapping.tree.root;
        let slots = &mut self.slots;
        let whole = if self.patient {
            let raw = <&RawValue as serde::Deserialize>::deserialize(from)?;
            let mut alone = serde_json::Deserializer::from_str(raw.get());
            Place { node: root, slots }
                .deserialize(&mut alone)
                .map_err(|e| e.to_string())
        } else {
            Ok(Place { node: root, slots }.deserialize(from)?)
        };
        self.keep(name, whole);
        Ok(())
    }

    /// Handles a repeated member on the path to the entries, followed by `rest`: earlier content
    /// does not count.
    fn again(&mut self, rest: &[String]) {
        let way = &self.mapping.entries;
        let path = way[..way.len() - rest.len()].join(".");
        self.drafts.clear();
        self.remarks.forget_entries();
        self.remarks
            .file(format!("{path} comes twice"), "the last one");
    }

    /// Adds a draft of the values. `whole`: true if the entry has content, or its defect.
    fn keep(&mut self, name: Option<(&str, bool)>, whole: Result<bool, String>) {
        let told = match name {
            Some((name, _)) => Some(Cow::Borrowed(name)),
            None => match self.mapping.tree.value(&self.slots, Field::Key) {
                Some((Value::Text(text), _)) => Some(text.clone()),
                Some((Value::Number(number), _)) => Some(Cow::Borrowed(*number)),
                _ => None,
            },
        };
        let told = told.unwrap_or_default();
        let half = name.is_some_and(|(_, half)| half);
        let Some(key) = entry::key(self.mapping, &told, half, self.remarks) else {
            return;
        };
        match whole {
            Ok(true) => {
                let reading = EntryReader {
                    mapping: self.mapping,
                    slots: &self.slots,
                    remarks: self.remarks,
                    key,
                };
                self.drafts.push(reading.draft());
            }
            Ok(false) => {
                let kind = self.slots.wrong.first().map_or("nothing", |(_, kind)| kind);
                self.remarks
                    .of(&key, format!("the entry is {kind}"), LEFT_OUT);
            }
            Err(error) => self
                .remarks
                .of(&key, format!("the entry: {error}"), LEFT_OUT),
        }
    }
}

/// The way to the entries; gives whether they were found.
struct Way<'w, 'c, 'de> {
    way: &'w [String],
    context: &'w mut Context<'c, 'de>,
}

impl<'de> DeserializeSeed<'de> for Way<'_, '_, 'de> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

/// Visitor methods for values without members.
macro_rules! of_leaf {
    ($($method:ident($type:ty) $kind:literal),*) => {
        $(fn $method<E: Error>(self, _: $type) -> Result<bool, E> {
            self.leaf($kind);
            Ok(false)
        })*
        fn visit_unit<E: Error>(self) -> Result<bool, E> {
            self.leaf("");
            Ok(false)
        }
    };
}

impl Way<'_, '_, '_> {
    fn leaf(self, _: &'static str) {}
}

impl<'de> Visitor<'de> for Way<'_, '_, 'de> {
    type Value = bool;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("a directory")
    }

    of_leaf!(visit_bool(bool) "", visit_i64(i64) "", visit_u64(u64) "", visit_f64(f64) "", visit_str(&str) "");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let Some((first, rest)) = self.way.split_first() else {
            while let Some(name) = map.next_key_seed(Name)? {
                let half = has_half(&name);
                let name = text(name);
                let context = &mut *self.context;
                map.next_value_seed(Next {
                    name: Some((&name, half)),
                    context,
                })?;
            }
            return Ok(true);
        };
        let mut found = None;
        while let Some(name) = map.next_key_seed(Name)? {
            if *name == *first.as_bytes() {
                let context = &mut *self.context;
                if found.is_some() {
                    context.again(rest);
                }
                found = Some(map.next_value_seed(Way { way: rest, context })?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found.unwrap_or(false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        if !self.way.is_empty() {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(false);
        }
        loop {
            let context = &mut *self.context;
            let next = list.next_element_seed(Next {
                name: None,
                context,
            })?;
            if next.is_none() {
                return Ok(true);
            }
        }
    }
}

/// An entry; of a member its name, and whether that has half a surrogate.
struct Next<'w, 'c, 'de> {
    name: Option<(&'w str, bool)>,
    context: &'w mut Context<'c, 'de>,
}

impl<'de> DeserializeSeed<'de> for Next<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.context.entry(self.name, from)
    }
}

/// The name of a member.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, [u8]>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_bytes(RawBytes)
    }
}

/// A place within an entry; returns true for content. Recursion is limited by the mapping's paths.
struct Place<'n, 's, 'de> {
    node: &'n Node,
    slots: &'s mut Slots<'de>,
}

impl<'de> DeserializeSeed<'de> for Place<'_, '_, 'de> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        if let Some(slot) = self.node.slot {
            let raw = <&RawValue as serde::Deserialize>::deserialize(from)?;
            self.slots.put_json(slot, raw.get());
            return Ok(true);
        }
        self.slots.meet(self.node);
        from.deserialize_any(self)
    }
}

impl Place<'_, '_, '_> {
    fn leaf(self, kind: &'static str) {
        if !kind.is_empty() {
            self.slots.wrong.push((self.node.path.clone(), kind));
        }
    }
}

impl<'de> Visitor<'de> for Place<'_, '_, 'de> {
    type Value = bool;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("an object")
    }

    of_leaf!(
        visit_bool(bool) "true or false",
        visit_i64(i64) "a number",
        visit_u64(u64) "a number",
        visit_f64(f64) "a number",
        visit_str(&str) "a text"
    );

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            match self.node.child(&name) {
                Some(node) => {
                    let slots = &mut *self.slots;
                    map.next_value_seed(Place { node, slots })?;
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let mut wanted = false;
        for index in 0.. {
            let slots = &mut *self.slots;
            let next = match self.node.item(index) {
                Some(node) => {
                    wanted = true;
                    list.next_element_seed(Place { node, slots })?.is_some()
                }
                None => list.next_element::<IgnoredAny>()?.is_some(),
            };
            if !next {
                break;
            }
        }
        if !wanted {
            self.leaf("a list");
        }
        Ok(wanted)
    }
}
