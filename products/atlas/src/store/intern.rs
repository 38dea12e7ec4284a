//! Interns names and profiles as small numbers, as a directory repeats them thousands of times.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::snapshot::Profile;
use crate::text::folded;

/// Entries beyond which all is forgotten, between commits.
const MOST: usize = 100_000;

/// Numbers of communities and profiles in this process. A write assigns those of the database.
#[derive(Default)]
pub(super) struct Intern {
    by_key: HashMap<String, u32>,
    communities: Vec<Community>,
    by_digest: HashMap<[u8; 16], u32>,
    profiles: Vec<InternedProfile>,
}

struct Community {
    key: String,
    /// The profile that it had last: most often it has it again.
    last: Option<u32>,
    id: Option<i64>,
}

/// A profile, with the input of [`super::counted`].
pub(super) struct InternedProfile {
    profile: Profile,
    pub digest: [u8; 16],
    pub name: String,
    pub metacommunity: Option<String>,
    id: Option<i64>,
}

impl Intern {
    pub fn community(&mut self, key: &str) -> u32 {
        if let Some(known) = self.by_key.get(key) {
            return *known;
        }
        let number = self.communities.len() as u32;
        self.by_key.insert(key.into(), number);
        self.communities.push(Community {
            key: key.into(),
            last: None,
            id: None,
        });
        number
    }

    pub fn profile(&mut self, community: u32, profile: &Profile) -> u32 {
        let last = self.communities[community as usize].last;
        if let Some(last) = last
            && self.profiles[last as usize].profile == *profile
        {
            return last;
        }
        let digest = digest(profile);
        let new = self.profiles.len() as u32;
        let number = *self.by_digest.entry(digest).or_insert(new);
        if number == new {
            let above = profile.metacommunity.as_deref().map(folded);
            self.profiles.push(InternedProfile {
                profile: profile.clone(),
                digest,
                name: folded(&profile.name),
                metacommunity: above,
                id: None,
            });
        }
        self.communities[community as usize].last = Some(number);
        number
    }

    pub fn key(&self, community: u32) -> &str {
        &self.communities[community as usize].key
    }

    pub fn interned(&self, profile: u32) -> &InternedProfile {
        &self.profiles[profile as usize]
    }

    /// Returns the community's number in the database, and inserts a new one.
    pub fn community_id(&mut self, store: &Connection, number: u32) -> rusqlite::Result<i64> {
        let community = &mut self.communities[number as usize];
        if let Some(id) = community.id {
            return Ok(id);
        }
        let mut put =
            store.prepare_cached("INSERT OR IGNORE INTO communities (key) VALUES (?1)")?;
        put.execute([&community.key])?;
        let mut get = store.prepare_cached("SELECT id FROM communities WHERE key = ?1")?;
        let id = get.query_row([&community.key], |row| row.get(0))?;
        community.id = Some(id);
        Ok(id)
    }

    /// Returns the profile's number, as [`Self::community_id`] does.
    pub fn profile_id(&mut self, store: &Connection, number: u32) -> rusqlite::Result<i64> {
        let interned = &mut self.profiles[number as usize];
        if let Some(id) = interned.id {
            return Ok(id);
        }
        let mut get = store.prepare_cached("SELECT id FROM profiles WHERE digest = ?1")?;
        let known = get
            .query_row([&interned.digest], |row| row.get(0))
            .optional()?;
        let id = match known {
            Some(id) => id,
            None => insert(store, &interned.profile, &interned.digest)?,
        };
        interned.id = Some(id);
        Ok(id)
    }

    /// Returns the local number of a community in the database.
    pub fn known_community(&mut self, store: &Connection, id: i64) -> rusqlite::Result<u32> {
        let mut get = store.prepare_cached("SELECT key FROM communities WHERE id = ?1")?;
        let key: String = get.query_row([id], |row| row.get(0))?;
        let number = self.community(&key);
        self.communities[number as usize].id = Some(id);
        Ok(number)
    }

    /// Returns the local number of a profile in the database.
    pub fn known_profile(
        &mut self,
        store: &Connection,
        community: u32,
        id: i64,
    ) -> rusqlite::Result<u32> {
        let profile = profile(store, id)?;
        let number = self.profile(community, &profile);
        self.profiles[number as usize].id = Some(id);
        Ok(number)
    }

    /// Forgets the database's numbers after a rollback.
    pub fn rolled_back(&mut self) {
        self.communities
            .iter_mut()
            .for_each(|known| known.id = None);
        self.profiles.iter_mut().for_each(|known| known.id = None);
    }

    /// Bounds the memory. Earlier numbers are then invalid.
    pub fn bound(&mut self) {
        if self.communities.len() > MOST || self.profiles.len() > MOST {
            *self = Self::default();
        }
    }
}

fn insert(store: &Connection, profile: &Profile, digest: &[u8; 16]) -> rusqlite::Result<i64> {
    let mut put = store.prepare_cached(
        "INSERT INTO profiles
           (digest, name, metacommunity, city, country, latitude, longitude, api, url)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let id = put.insert(params![
        digest,
        profile.name,
        profile.metacommunity,
        profile.city,
        profile.country,
        profile.latitude,
        profile.longitude,
        profile.api,
        profile.url,
    ])?;
    let mut put = store.prepare_cached(
        "INSERT OR IGNORE INTO profile_routing (profile, protocol) VALUES (?1, ?2)",
    )?;
    for protocol in &profile.routing {
        put.execute(params![id, protocol])?;
    }
    Ok(id)
}

/// Returns the profile with this number.
pub(crate) fn profile(store: &Connection, id: i64) -> rusqlite::Result<Profile> {
    let mut get = store.prepare_cached(
        "SELECT name, metacommunity, city, country, latitude, longitude, api, url
         FROM profiles WHERE id = ?1",
    )?;
    let mut profile = get.query_row([id], |row| {
        Ok(Profile {
            name: row.get(0)?,
            metacommunity: row.get(1)?,
            city: row.get(2)?,
            country: row.get(3)?,
            latitude: row.get(4)?,
            longitude: row.get(5)?,
            api: row.get(6)?,
            url: row.get(7)?,
            routing: Vec::new(),
        })
    })?;
    let mut get = store.prepare_cached(
        "SELECT protocol FROM profile_routing WHERE profile = ?1 ORDER BY protocol",
    )?;
    let protocols = get.query_map([id], |row| row.get(0))?;
    profile.routing = protocols.collect::<rusqlite::Result<_>>()?;
    Ok(profile)
}

/// Returns a digest of a profile. Each text follows its length, so that none equals two.
fn digest(profile: &Profile) -> [u8; 16] {
    let mut hash = blake3::Hasher::new();
    let mut text = |text: Option<&str>| match text {
        Some(text) => {
            hash.update(&(text.len() as u64 + 1).to_le_bytes());
            hash.update(text.as_bytes());
        }
        None => {
            hash.update(&0u64.to_le_bytes());
        }
    };
    text(Some(&profile.name));
    for some in [
        &profile.metacommunity,
        &profile.city,
        &profile.country,
        &profile.api,
        &profile.url,
    ] {
        text(some.as_deref());
    }
    for degrees in [profile.latitude, profile.longitude] {
        let bits = degrees.map(|degrees| degrees.to_bits().to_string());
        text(bits.as_deref());
    }
    for protocol in &profile.routing {
        text(Some(protocol));
    }
    let mut digest = [0; 16];
    hash.finalize_xof().fill(&mut digest);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Profile {
        Profile {
            name: name.into(),
            ..Profile::default()
        }
    }

    #[test]
    fn what_is_the_same_has_one_number() {
        let mut intern = Intern::default();
        let (a, b) = (intern.community("a"), intern.community("b"));
        assert_eq!((intern.community("a"), intern.key(b)), (a, "b"));
        let first = intern.profile(a, &named(" X"));
        let other = intern.profile(a, &named("y"));
        assert_eq!(intern.communities[a as usize].last, Some(other));
        for community in [a, b, a] {
            assert_eq!(intern.profile(community, &named(" X")), first);
        }
        assert_eq!(intern.profiles.len(), 2);
        assert_eq!(intern.interned(first).name, "x");
    }

    #[test]
    fn what_the_database_took_back_is_put_again() {
        let store = Connection::open_in_memory().expect("memory");
        store.execute_batch(crate::store::SCHEMA).expect("tables");
        let mut intern = Intern::default();
        let community = intern.community("a");
        let profile = intern.profile(community, &named("a"));
        for end in ["ROLLBACK", "COMMIT", "COMMIT"] {
            store.execute_batch("BEGIN").expect("begun");
            let put = (
                intern.community_id(&store, community).expect("put"),
                intern.profile_id(&store, profile).expect("put"),
            );
            assert_eq!(put, (1, 1), "{end}");
            let known = (&intern.communities[0], &intern.profiles[0]);
            assert_eq!((known.0.id, known.1.id), (Some(1), Some(1)));
            store.execute_batch(end).expect("ended");
            if end == "ROLLBACK" {
                intern.rolled_back();
            }
        }
        for table in ["communities", "profiles"] {
            let sql = format!("SELECT count(*) FROM {table}");
            let count = store.query_row(&sql, [], |row| row.get::<_, i64>(0));
            assert_eq!(count.expect("a number"), 1, "{table}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut intern = Intern::default();
        for nth in 0..MOST {
            intern.community(&nth.to_string());
        }
        intern.bound();
        assert_eq!(intern.communities.len(), MOST);
        intern.community("one more");
        intern.bound();
        assert!(intern.communities.is_empty() && intern.by_key.is_empty());
    }

    #[test]
    fn profiles_that_differ_have_digests_that_differ() {
        let profiles = [
            named("ab"),
            named("a"),
            Profile {
                city: Some("b".into()),
                ..named("a")
            },
            Profile {
                country: Some("b".into()),
                ..named("a")
            },
            Profile {
                city: Some(String::new()),
                ..named("a")
            },
            Profile {
                latitude: Some(1.0),
                ..named("a")
            },
            Profile {
                longitude: Some(1.0),
                ..named("a")
            },
            Profile {
                routing: vec!["x".into(), "y".into()],
                ..named("a")
            },
            Profile {
                routing: vec!["xy".into()],
                ..named("a")
            },
            // Equal to two protocols if the digest omitted their lengths.
            Profile {
                routing: vec!["x\u{1}\0\0\0\0\0\0\0y".into()],
                ..named("a")
            },
            Profile {
                latitude: Some(1.5),
                ..named("a")
            },
        ];
        for (at, one) in profiles.iter().enumerate() {
            for other in &profiles[..at] {
                assert_ne!(digest(one), digest(other), "{one:?} {other:?}");
            }
        }
    }
}
