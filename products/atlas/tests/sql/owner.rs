//! Queries by root while another user's server runs.

use std::os::unix::fs::{MetadataExt, chown};

use atlas::sql::{Engine, query};

use crate::common::sample;
use crate::duckdb::settings;

/// Unused user id.
const SERVER: u32 = 61_999;

/// Otherwise the server could not renew the copies.
#[test]
fn what_root_makes_beside_a_store_belongs_to_the_stores_owner() {
    let folder = sample(2);
    let store = folder.path().join("atlas.db");
    for path in [folder.path(), &store] {
        chown(path, Some(SERVER), Some(SERVER)).expect("root");
    }
    for engine in [Engine::Sqlite, Engine::Duckdb] {
        query(settings(&folder, 5), "SELECT count(*) FROM growth", engine).expect("an answer");
    }
    for name in [
        "public.db",
        "public.db.lock",
        "parquet",
        "parquet/version",
        "parquet/months.parquet",
    ] {
        let made = folder.path().join(name).metadata().expect(name);
        assert_eq!((made.uid(), made.gid()), (SERVER, SERVER), "{name}");
    }
}
