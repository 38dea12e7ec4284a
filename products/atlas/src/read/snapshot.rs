//! A file of the directory as a snapshot.

use std::collections::HashMap;

use super::entry::{Draft, odd};
use super::mapping::{Format, Mapping, Parents};
use super::remarks::Remarks;
use super::{json, shape, table};
use crate::snapshot::{Entry, Remark, Snapshot, Status};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Reads a file of the directory. Never fails: an unreadable file has no entries, and a remark with
/// the reason.
pub fn snapshot(name: &str, octets: &[u8], mapping: &Mapping) -> Snapshot {
    let named = mapping.time_of(name).flatten();
    let mut snapshot = snapshot_of(name, named, octets, mapping);
    if named.is_none() && mapping.mistimed(name) {
        let remark = Remark {
            key: None,
            what: "its name contains an invalid time".to_owned(),
            read_as: "as a name without one".to_owned(),
        };
        snapshot.remarks.insert(0, remark);
    }
    snapshot
}

/// Reads a file as [`snapshot`] does; `named`: time in its name, seconds since 1970.
pub(super) fn snapshot_of(
    name: &str,
    named: Option<i64>,
    octets: &[u8],
    mapping: &Mapping,
) -> Snapshot {
    let mut remarks = Remarks::default();
    let drafts = match mapping.format {
        Format::Json => json::read(octets, mapping, &mut remarks),
        Format::Csv(delimiter) => table::read(octets, delimiter, mapping, &mut remarks),
    };
    let drafts = drafts.and_then(|drafts| shape::directory(octets, drafts, mapping));
    let drafts = drafts.unwrap_or_else(|why| {
        // Remarks on entries that do not count are of no use.
        remarks = Remarks::default();
        remarks.file(why, "the whole file is left out");
        Vec::new()
    });
    let drafts = in_zone(drafts, named, mapping);
    let time = time(&drafts, named);
    let entries = match time {
        Some(time) => entries(drafts, time, mapping, &mut remarks),
        None => {
            if !drafts.is_empty() {
                let what = "neither its name nor its entries contain a time";
                remarks.file(what, "the whole file is left out");
            }
            Vec::new()
        }
    };
    let mut remarks = remarks.done();
    if entries.is_empty() && remarks.is_empty() {
        remarks.push(Remark {
            key: None,
            what: "it has no entries".to_owned(),
            read_as: "the whole file is left out".to_owned(),
        });
    }
    Snapshot {
        file: name.to_owned(),
        hour: time.or(named).map_or(0, |time| time.div_euclid(3600)),
        entries,
        remarks,
    }
}

/// Returns the time of a snapshot, in seconds since 1970: a directory's file is older than its
/// name, so the latest time in it counts, unless a day off, which means no fetch or a wrong time.
fn time(drafts: &[Draft], named: Option<i64>) -> Option<i64> {
    let latest = drafts.iter().filter_map(|draft| draft.fetched).max();
    match (latest, named) {
        (Some(latest), Some(named)) if (latest - named).abs() > DAY => Some(named),
        (latest, named) => latest.or(named),
    }
}

/// Seconds by which a directory's newest entry may be older than the file's name, for an hourly
/// cycle with a late begin; and by which it may be newer.
const CYCLE: std::ops::RangeInclusive<i64> = -300..=3900;

/// Converts the times of entries. A collector that names files by its own clock uses that clock in
/// the entries, too: a time without a zone is in the zone of the names, unless `times.zone` sets
/// another. A time that is after the name by that clock, and before it in UTC, is UTC.
fn in_zone(mut drafts: Vec<Draft>, named: Option<i64>, mapping: &Mapping) -> Vec<Draft> {
    if mapping.entry_zone_given || !mapping.formats.is_empty() {
        return drafts;
    }
    // `again`: the second occurrence of the hour that repeats when clocks go back.
    let moved = |seconds: i64, again: bool| {
        let there = jiff::Timestamp::from_second(seconds).ok()?;
        let clock = there.to_zoned(mapping.entry_zone.clone()).datetime();
        let here = mapping.zone.to_ambiguous_timestamp(clock);
        let here = match again {
            true => here.later(),
            false => here.compatible(),
        };
        Some(here.ok()?.as_second())
    };
    let told = drafts.iter().filter(|draft| !draft.zoned);
    let Some(latest) = told.filter_map(|draft| draft.fetched).max() else {
        return drafts;
    };
    let fits = |again| {
        let local = named.zip(moved(latest, again));
        local.is_some_and(|(named, local)| CYCLE.contains(&(named - local)))
    };
    let again = !fits(false) && fits(true);
    let behind = |time: i64| named.is_some_and(|named| named - time < *CYCLE.start());
    let utc = moved(latest, again).is_none_or(behind) && !behind(latest);
    if !utc {
        for draft in drafts.iter_mut().filter(|draft| !draft.zoned) {
            draft.fetched = draft.fetched.and_then(|seconds| moved(seconds, again));
        }
    }
    drafts
}

fn entries(drafts: Vec<Draft>, time: i64, mapping: &Mapping, remarks: &mut Remarks) -> Vec<Entry> {
    // Of several entries with a key the last counts, and is the target of references by name.
    let mut last = HashMap::with_capacity(drafts.len());
    for (at, draft) in drafts.iter().enumerate() {
        if last.insert(draft.key.as_str(), at).is_some() {
            remarks.of(&draft.key, "the key comes twice", "the last one");
        }
    }
    let names: HashMap<String, String> = match mapping.parents {
        Parents::Name => HashMap::new(),
        Parents::Key => drafts
            .iter()
            .map(|draft| (draft.key.clone(), draft.profile.name.clone()))
            .collect(),
    };
    let stays: Vec<bool> = drafts
        .iter()
        .enumerate()
        .map(|(at, draft)| {
            let known = |key: &str| last.contains_key(key);
            let place = || {
                mapping
                    .leave_out
                    .iter()
                    .any(|out| out.fits(&draft.key, known))
            };
            last.get(draft.key.as_str()) == Some(&at) && !(draft.nodes.is_none() && place())
        })
        .collect();
    let kept = drafts.into_iter().zip(stays).filter(|(_, stays)| *stays);
    kept.map(|(mut draft, _)| {
        if let (Parents::Key, Some(parent)) = (mapping.parents, &mut draft.profile.metacommunity) {
            let key = format!("{}{parent}", mapping.key_prefix);
            match names.get(&key) {
                Some(name) => parent.clone_from(name),
                None => draft.profile.metacommunity = None,
            }
        }
        entry(draft, time, remarks)
    })
    .collect()
}

fn entry(draft: Draft, time: i64, remarks: &mut Remarks) -> Entry {
    let mut fetched = draft.fetched.unwrap_or(time);
    if fetched > time + DAY {
        let days = (fetched - time) / DAY;
        let what = format!("it was fetched {days} days after the snapshot");
        remarks.of(&draft.key, what, "the time of the snapshot");
        fetched = time;
    }
    let changed = draft.changed.filter(|changed| *changed <= time);
    let age = time - changed.map_or(fetched, |changed| changed.min(fetched));
    let status = match draft.nodes {
        Some(nodes) if odd(nodes) => Status::Odd,
        _ if age > 90 * DAY => Status::Frozen,
        _ if age > 2 * DAY || draft.failed => Status::Stale,
        _ => Status::Live,
    };
    Entry {
        key: draft.key,
        nodes: draft.nodes,
        status,
        fetched,
        profile: draft.profile,
    }
}
