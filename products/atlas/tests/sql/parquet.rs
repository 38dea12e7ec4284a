//! Parquet files that are removed or damaged, as DuckDB meets them.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atlas::Error;
use atlas::sql::{Answer, Engine, Queries};

use crate::common::*;
use crate::duckdb::settings;

const FILE: &str = "hours.parquet";
/// Query in DuckDB's dialect.
const DUCK: &str = "FROM growth_hours SELECT sum(nodes)";
/// Answer of the query.
const NODES: u32 = 21_435;

/// Overwrites the rows, at the same length and with the same times.
fn scratch(file: &Path) {
    let opened = fs::File::options().write(true).open(file).expect("opened");
    let times = fs::metadata(file).expect("there");
    let (length, written) = (times.len(), times.modified().expect("a time"));
    let zeros = vec![0; length as usize / 2];
    opened.write_all_at(&zeros, 4).expect("written");
    opened.set_modified(written).expect("set");
}

fn remove(file: &Path) {
    fs::remove_file(file).expect("removed");
}

fn cut(file: &Path) {
    let opened = fs::File::options().write(true).open(file);
    opened.expect("opened").set_len(20).expect("cut");
}

fn empty(file: &Path) {
    fs::write(file, "").expect("written");
}

type Damage = fn(&Path);
const DAMAGES: [Damage; 4] = [scratch, remove, cut, empty];

/// Asks until the files are renewed: a single failure renews them, and later queries wait.
async fn asked(queries: &Queries, sql: &str) -> Result<Arc<Answer>, Error> {
    for _ in 0..100 {
        match queries.ask(sql, Engine::Duckdb).await {
            Err(Error::Unready(_)) => tokio::time::sleep(Duration::from_millis(200)).await,
            answered => return answered,
        }
    }
    queries.ask(sql, Engine::Duckdb).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_damaged_is_made_anew_and_answered() {
    let folder = sample(30);
    let file = folder.path().join("parquet").join(FILE);
    let queries = Queries::new(settings(&folder, 5));
    let mut number = 0;
    assert_eq!(
        first(&queries.ask(DUCK, Engine::Duckdb).await),
        NODES.to_string()
    );
    // Files of the previous run are checked too.
    for queries in [&queries, &Queries::new(settings(&folder, 5))] {
        for damage in DAMAGES {
            number += 1;
            damage(&file);
            let answer = asked(queries, &format!("{DUCK} + {number}")).await;
            assert_eq!(first(&answer), (NODES + number).to_string());
            assert!(fs::metadata(&file).expect("made anew").len() > 20);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_it_cannot_be_made_anew_sqlite_answers() {
    for damage in DAMAGES {
        let folder = sample(30);
        let queries = Queries::new(settings(&folder, 5));
        let answer = queries.ask("SELECT 1", Engine::Sqlite).await;
        assert_eq!(first(&answer), "1");
        let answer = queries.ask(DUCK, Engine::Duckdb).await;
        assert_eq!(first(&answer), NODES.to_string());
        let store = folder.path().join("atlas.db");
        fs::rename(&store, store.with_extension("gone")).expect("moved");
        damage(&folder.path().join("parquet").join(FILE));
        let sql = "SELECT sum(nodes) + 1 FROM growth_hours";
        let answer = queries.ask(sql, Engine::Duckdb).await;
        assert_eq!(first(&answer), (NODES + 1).to_string());
        let answer = queries.ask(&format!("{DUCK} + 2"), Engine::Duckdb).await;
        let Err(Error::Unready(why)) = answer else {
            panic!("{answer:?}");
        };
        assert!(why.contains("parquet/hours.parquet is "), "{why}");
        assert!(why.contains("remove the folder parquet"), "{why}");
        // The query's own faults stay its own.
        let wrong = queries.ask("SELECT nothing", Engine::Duckdb).await;
        assert!(matches!(wrong, Err(Error::Asked(_) | Error::Unready(_))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_fails_by_itself_is_at_fault() {
    let folder = sample(2);
    let queries = Queries::new(settings(&folder, 5));
    for wrong in [
        "SELECT error('damaged')",
        "SELECT nothing",
        "SELECT 'x'::INTEGER",
    ] {
        let answer = queries.ask(wrong, Engine::Duckdb).await;
        assert!(
            matches!(answer, Err(Error::Asked(_))),
            "{wrong}: {answer:?}"
        );
    }
}
