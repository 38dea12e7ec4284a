//! Ten years by the hour, of the shapes of the real data: how large communities are, how they
//! grow, when their numbers are old.

use std::path::Path;
use std::process::Command;

use atlas::snapshot::{Entry, Profile, Snapshot, Status};
use atlas::store::Digest;
use atlas::time::Unit;
use rusqlite::Connection;
use serde_json::{Map, Value};

use crate::Result;

/// The first year.
const YEAR: i64 = 2014;

/// State of a real community in a week.
struct Week {
    hour: i64,
    nodes: Option<i64>,
    status: Status,
    profile: usize,
}

/// A community that is made: a real one, larger or smaller, earlier or later.
struct Made {
    real: usize,
    copy: usize,
    shift: i64,
    hundredths: i64,
    /// Position in the weeks of the real community, and its profile in `snapshot`.
    at: usize,
    profile: Option<usize>,
}

/// Makes snapshots.
pub struct Maker {
    weeks: Vec<Vec<Week>>,
    profiles: Vec<Profile>,
    made: Vec<Made>,
    years: i64,
    snapshot: Snapshot,
}

impl Maker {
    /// Creates a maker with the shapes in `real`.
    pub fn new(real: &Connection, communities: usize, years: i64) -> Result<Self> {
        let mut keys = Vec::new();
        let mut query = real.prepare("SELECT id, key FROM communities ORDER BY key")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            keys.push((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        }
        let (profiles, numbers) = profiles(real)?;
        let mut weeks = Vec::new();
        for (id, _) in &keys {
            weeks.push(weeks_of(real, *id, &numbers)?);
        }
        let made: Vec<Made> = (0..communities)
            .map(|number| Made {
                real: number % keys.len(),
                copy: number / keys.len(),
                shift: (number / keys.len()) as i64 * 97 * 24,
                hundredths: 60 + (number as i64 * 37) % 80,
                at: 0,
                profile: None,
            })
            .collect();
        let entries = made.iter().map(|made| Entry {
            key: format!("{}-{}", keys[made.real].1, made.copy),
            nodes: None,
            status: Status::Live,
            fetched: 0,
            profile: Profile::default(),
        });
        let snapshot = Snapshot {
            entries: entries.collect(),
            ..Snapshot::default()
        };
        Ok(Self {
            weeks,
            profiles,
            made,
            years,
            snapshot,
        })
    }

    pub fn begin(&self) -> i64 {
        Unit::Month.begin(YEAR * 12)
    }

    pub fn end(&self) -> i64 {
        Unit::Month.begin((YEAR + self.years) * 12)
    }

    pub fn communities(&self) -> usize {
        self.made.len()
    }

    /// Returns an existing key.
    pub fn key(&self) -> &str {
        &self.snapshot.entries[self.made.len() / 3].key
    }

    /// Returns the snapshot of an hour; hours ascend.
    pub fn snapshot(&mut self, hour: i64) -> (&Snapshot, Digest) {
        self.snapshot.hour = hour;
        for (number, made) in self.made.iter_mut().enumerate() {
            let weeks = &self.weeks[made.real];
            let real = hour - made.shift;
            while weeks.get(made.at + 1).is_some_and(|next| next.hour <= real) {
                made.at += 1;
            }
            let week = &weeks[made.at];
            let entry = &mut self.snapshot.entries[number];
            // A directory is updated hourly: live numbers vary a little.
            let live = week.status == Status::Live;
            let moved = |nodes: i64| nodes * made.hundredths / 100 + noise(hour, number) % 3;
            let week_s = |nodes: i64| nodes * made.hundredths / 100;
            entry.nodes = week
                .nodes
                .map(|nodes| if live { moved(nodes) } else { week_s(nodes) });
            entry.status = week.status;
            entry.fetched = if live {
                hour * 3600 - noise(hour, number) % 600
            } else {
                (week.hour + made.shift) * 3600 - 90 * 86_400
            };
            if made.profile != Some(week.profile) {
                entry.profile = self.profiles[week.profile].clone();
                let name = &mut entry.profile.name;
                *name = format!("{name} {}", made.copy);
                if let Some(above) = &mut entry.profile.metacommunity {
                    *above = format!("{above} {}", made.copy);
                }
                made.profile = Some(week.profile);
            }
        }
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&hour.to_le_bytes());
        self.snapshot.file = format!("{hour}.json");
        (&self.snapshot, digest)
    }

    /// Writes the first `files` snapshots as a directory would, into `folder`.
    pub fn write_json(&mut self, folder: &Path, files: usize) -> Result<()> {
        std::fs::create_dir(folder)?;
        let name = "history/20230615-00.00.00-ffSummarizedDir.json";
        let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/data/freifunk.tar.xz");
        let out = Command::new("tar").args(["xJOf", archive, name]).output()?;
        let real: Map<String, Value> = serde_json::from_slice(&out.stdout)?;
        let real: Vec<Value> = real.into_iter().map(|(_, entry)| entry).collect();
        let begin = self.begin();
        for file in 0..files {
            let hour = begin + file as i64;
            let (snapshot, _) = self.snapshot(hour);
            let mut entries = Map::new();
            for (number, made) in snapshot.entries.iter().enumerate() {
                let mut entry = real[number % real.len()].clone();
                entry["name"] = made.profile.name.clone().into();
                entry["mtime"] = local(made.fetched).into();
                if let Some(state) = entry["state"].as_object_mut() {
                    state.insert("nodes".into(), made.nodes.into());
                    state.insert("lastchange".into(), local(made.fetched).into());
                }
                entries.insert(made.key.clone(), entry);
            }
            let day = atlas::time::day(hour);
            let name = format!(
                "{:04}{:02}{:02}-{:02}.00.00-ffSummarizedDir.json",
                day.year(),
                day.month(),
                day.day(),
                hour.rem_euclid(24)
            );
            std::fs::write(folder.join(name), serde_json::to_vec(&entries)?)?;
        }
        for made in &mut self.made {
            made.at = 0;
        }
        Ok(())
    }
}

/// Formats a time like a directory: `2019-10-17 22:00:00`.
fn local(second: i64) -> String {
    let hour = atlas::time::iso(second.div_euclid(3600)).replace('T', " ");
    let rest = second.rem_euclid(3600);
    format!("{}{:02}:{:02}", &hour[..14], rest / 60, rest % 60)
}

/// Returns a pseudorandom number that is fixed for an hour and a community.
fn noise(hour: i64, number: usize) -> i64 {
    let mut bits = (hour as u64) << 20 | number as u64;
    bits = (bits ^ (bits >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits >> 33) as i64
}

/// Returns all profiles, and the index of each number of the database.
fn profiles(real: &Connection) -> Result<(Vec<Profile>, std::collections::HashMap<i64, usize>)> {
    let mut query = real.prepare(
        "SELECT id, name, metacommunity, city, country, latitude, longitude, api, url,
           (SELECT group_concat(protocol, ',') FROM profile_routing WHERE profile = id)
         FROM profiles ORDER BY id",
    )?;
    let mut rows = query.query([])?;
    let (mut profiles, mut numbers) = (Vec::new(), std::collections::HashMap::new());
    while let Some(row) = rows.next()? {
        numbers.insert(row.get(0)?, profiles.len());
        let routing: Option<String> = row.get(9)?;
        let routing = routing.iter().flat_map(|names| names.split(','));
        profiles.push(Profile {
            name: row.get(1)?,
            metacommunity: row.get(2)?,
            city: row.get(3)?,
            country: row.get(4)?,
            latitude: row.get(5)?,
            longitude: row.get(6)?,
            api: row.get(7)?,
            url: row.get(8)?,
            routing: routing.map(Into::into).collect(),
        });
    }
    Ok((profiles, numbers))
}

fn weeks_of(
    real: &Connection,
    community: i64,
    numbers: &std::collections::HashMap<i64, usize>,
) -> Result<Vec<Week>> {
    let mut query = real.prepare(
        "SELECT hour, nodes, status, profile FROM observations WHERE community = ?1 ORDER BY hour",
    )?;
    let mut rows = query.query([community])?;
    let mut weeks = Vec::new();
    while let Some(row) = rows.next()? {
        weeks.push(Week {
            hour: row.get(0)?,
            nodes: row.get(1)?,
            status: match row.get(2)? {
                0i64 => Status::Live,
                1 => Status::Stale,
                2 => Status::Frozen,
                _ => Status::Odd,
            },
            profile: numbers[&row.get(3)?],
        });
    }
    Ok(weeks)
}
