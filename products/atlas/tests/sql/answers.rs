//! Answers to queries.

use crate::common::*;
use atlas::Error;
use atlas::figure::Cell;
use atlas::sql::{EXAMPLES, Engine, Limits, Settings};
use atlas::text::Language;
use testing::Directory;

fn text(text: &str) -> Cell {
    Cell::Text(text.into())
}

fn rows(folder: &Directory, sql: &str) -> Vec<Vec<Cell>> {
    let answer = atlas::sql::query(settings_of(folder, 5), sql, Engine::Sqlite);
    answer.expect(sql).rows.clone()
}

#[test]
fn each_example_has_an_answer() {
    let folder = sample(30);
    let mut titles = Vec::new();
    for example in EXAMPLES {
        assert!(!rows(&folder, example.sql).is_empty(), "{}", example.sql);
        titles
            .extend([Language::English, Language::German].map(|language| example.title(language)));
    }
    let all = titles.len();
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), all);
}

#[test]
fn views_say_what_the_store_has() {
    let folder = sample(30);
    let snapshots = rows(
        &folder,
        "SELECT * FROM snapshots WHERE t >= '2019-10-02' AND t < '2019-10-02T01' ORDER BY key",
    );
    let t = text("2019-10-02T00:00:00Z");
    let expected = [
        ("altdorf", "Freifunk Altdorf", 100, "stale", 1),
        ("berlin", "Freifunk Berlin", 624, "live", 1),
        ("odd", "Freifunk <b>Odd</b>", -5, "odd", 0),
    ];
    let expected = expected.map(|(key, name, nodes, status, counted)| {
        let (nodes, counted) = (Cell::Whole(nodes), Cell::Whole(counted));
        vec![
            t.clone(),
            text(key),
            text(name),
            nodes,
            text(status),
            counted,
        ]
    });
    assert_eq!(snapshots, expected);
    // 600 to 629, half of a node rounded up, and 100; three entries.
    let numbers = |numbers: [i64; 5]| numbers.map(Cell::Whole);
    let growth = rows(&folder, "SELECT * FROM growth");
    assert_eq!(growth.len(), 1);
    assert_eq!(growth[0][0], text("2019-10"));
    assert_eq!(growth[0][1..], numbers([715, 615, 100, 0, 3]));
    let days = rows(&folder, "SELECT * FROM growth_days ORDER BY date");
    assert_eq!(days[1][0], text("2019-10-02"));
    assert_eq!(days[1][1..], numbers([727, 627, 100, 0, 3]));
    let hours = rows(
        &folder,
        "SELECT * FROM growth_hours WHERE t = '2019-10-01T05:00:00Z'",
    );
    assert_eq!(hours[0][1..], numbers([705, 605, 100, 0, 3]));
    let of_month = rows(
        &folder,
        "SELECT * FROM community_months WHERE key = 'berlin'",
    );
    let head = [text("2019-10"), text("berlin"), text("Freifunk Berlin")];
    assert_eq!(of_month[0][..3], head);
    let sums = [615, 600, 629, 615, 30, 0].map(Cell::Whole);
    assert_eq!(of_month[0][3..], sums);
    let odd = rows(
        &folder,
        "SELECT nodes, counted, listed, odd FROM community_months WHERE key = 'odd'",
    );
    let none = [
        Cell::Nothing,
        Cell::Whole(0),
        Cell::Whole(30),
        Cell::Whole(30),
    ];
    assert_eq!(odd[0], none);
    let of_day = rows(
        &folder,
        "SELECT date, nodes FROM community_days WHERE key = 'berlin'",
    );
    assert_eq!(of_day[1], [text("2019-10-02"), Cell::Whole(627)]);
    let last = rows(
        &folder,
        "SELECT first, last FROM directory WHERE key = 'odd'",
    );
    let span = [text("2019-10-01T00:00:00Z"), text("2019-10-02T05:00:00Z")];
    assert_eq!(last[0], span);
    let protocols = rows(&folder, "SELECT protocol FROM protocols WHERE key = 'odd'");
    assert_eq!(protocols.len(), 2);
    let remarks = rows(&folder, "SELECT what, read_as FROM remarks LIMIT 1");
    assert_eq!(remarks[0], [text("-5 nodes"), text("odd")]);
}

#[test]
fn medians_percentiles_and_patterns() {
    let folder = sample(30);
    let of_berlin = rows(
        &folder,
        "SELECT median(nodes), percentile(nodes, 90) FROM snapshots WHERE name REGEXP '^Freifunk Ber'",
    );
    assert_eq!(of_berlin, [[Cell::Real(614.5), Cell::Real(626.1)]]);
    let names = rows(
        &folder,
        "SELECT key FROM directory WHERE name REGEXP '(?i)^FREIFUNK [[:alpha:]]+$' ORDER BY key",
    );
    assert_eq!(names, [[text("altdorf")], [text("berlin")]]);
    let wrong = atlas::sql::query(
        settings_of(&folder, 5),
        "SELECT 'a' REGEXP '['",
        Engine::Sqlite,
    );
    let wrong = wrong.expect_err("no pattern").to_string();
    assert!(wrong.contains("the pattern of regexp"), "{wrong}");
}

#[test]
fn a_span_of_time_is_found_without_reading_all() {
    let folder = sample(30);
    let plan = "EXPLAIN QUERY PLAN SELECT sum(nodes) FROM snapshots WHERE t >= '2019-10' AND t < '2019-11'";
    let plan = format!("{:?}", rows(&folder, plan));
    assert!(
        plan.contains("SEARCH h USING") && !plan.contains("SCAN"),
        "{plan}"
    );
    let plan = "EXPLAIN QUERY PLAN SELECT date, nodes FROM community_days WHERE key = 'berlin'";
    let plan = format!("{:?}", rows(&folder, plan));
    assert!(!plan.contains("SCAN m"), "{plan}");
}

#[test]
fn what_is_longer_than_an_answer_is_cut_and_says_so() {
    let folder = sample(1);
    let endless = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT";
    let ask = |sql: &str| {
        let answer = atlas::sql::query(settings_of(&folder, 5), sql, Engine::Sqlite);
        answer.expect(sql)
    };
    let strangers = Limits::STRANGERS;
    let answer = ask(&format!("{endless} n FROM x"));
    assert_eq!(
        (answer.rows.len(), answer.truncated),
        (strangers.rows, true)
    );
    let answer = ask(&format!("{endless} n FROM x LIMIT 10000"));
    assert_eq!(
        (answer.rows.len(), answer.truncated),
        (strangers.rows, false)
    );
    let wide = ", n".repeat(99);
    let answer = ask(&format!("{endless} n{wide} FROM x"));
    assert_eq!(
        (answer.rows.len(), answer.truncated),
        (strangers.cells / 100, true)
    );
    // Texts that grow sixfold as JSON.
    let answer = ask(&format!("{endless} printf('%.*c', 10000, char(1)) FROM x"));
    assert!(answer.truncated);
    let octets = serde_json::to_vec(&*answer).expect("JSON").len();
    assert!(
        octets <= strangers.octets && octets > strangers.octets * 9 / 10,
        "{octets}"
    );
    let answer = ask("SELECT 9e999, -9e999, X'00fF', 2.5, 1e300, 'ä', char(0)");
    let whole = [
        text("Infinity"),
        text("-Infinity"),
        text("X'00FF'"),
        Cell::Real(2.5),
    ];
    assert_eq!(answer.rows[0][..4], whole);
    assert_eq!(
        answer.rows[0][4..],
        [Cell::Real(1e300), text("ä"), text("\0")]
    );
}

#[tokio::test]
async fn answers_are_kept_until_the_store_changes() {
    let folder = sample(2);
    let settings = Settings {
        every: Some(std::time::Duration::ZERO),
        ..settings_of(&folder, 5)
    };
    let queries = atlas::sql::Queries::new(settings);
    let sql = "SELECT count(*) FROM hours";
    let ask = async || first(&queries.ask(sql, Engine::Sqlite).await);
    assert_eq!(ask().await, "2");
    let random = queries.ask("SELECT random()", Engine::Sqlite).await;
    let again = queries.ask(" SELECT random()\n", Engine::Sqlite).await;
    assert_eq!(first(&random), first(&again));
    assert_eq!(queries.counts().cached, 1);
    add(&folder, 2..5);
    // The store is checked now and then, and the copy is made in the background.
    let mut seen = String::new();
    for _ in 0..200 {
        seen = ask().await;
        if seen == "5" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(seen, "5");
}

#[test]
fn for_who_is_no_server_the_copy_is_made_at_once() {
    let folder = sample(5);
    let nowhere = Settings::of_owner(folder.path().join("nowhere"));
    let answer = atlas::sql::query(nowhere, "SELECT 1", Engine::Sqlite);
    assert!(matches!(answer, Err(Error::Missing(_))), "{answer:?}");
    let settings = Settings {
        program: PROGRAM.into(),
        ..Settings::of_owner(folder.path())
    };
    for hours in [5, 6] {
        let sql = "SELECT count(*) FROM hours";
        let answer = atlas::sql::query(settings.clone(), sql, Engine::Sqlite);
        assert_eq!(first(&answer), hours.to_string());
        add(&folder, 5..6);
    }
}

/// As many commits after the backup as there were before it was put back.
#[test]
fn a_backup_that_is_put_back_and_goes_on_has_a_copy_of_its_own() {
    let folder = sample(2);
    let [store, backup] = ["atlas.db", "backup.db"].map(|name| folder.path().join(name));
    std::fs::copy(&store, &backup).expect("copied");
    let settings = Settings {
        every: None,
        ..settings_of(&folder, 5)
    };
    let count = || {
        let sql = "SELECT count(*) FROM hours";
        first(&atlas::sql::query(settings.clone(), sql, Engine::Sqlite))
    };
    add(&folder, 2..5);
    assert_eq!(count(), "5");
    for beside in ["atlas.db-wal", "atlas.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(beside));
    }
    std::fs::rename(&backup, &store).expect("put back");
    add(&folder, 2..3);
    assert_eq!(count(), "3");
}

#[tokio::test]
async fn without_a_store_or_room_for_a_copy_the_fix_is_said() {
    let folder = sample(1);
    let nowhere = Settings {
        program: PROGRAM.into(),
        ..Settings::of(folder.path().join("nowhere"))
    };
    let answer = atlas::sql::Queries::new(nowhere);
    let answer = answer.ask("SELECT 1", Engine::Sqlite).await;
    assert!(matches!(answer, Err(Error::Missing(_))), "{answer:?}");
    // The copy cannot be made.
    std::fs::create_dir(folder.path().join("public.db.new")).expect("a folder in its way");
    let queries = queries(&folder, 5);
    for _ in 0..2 {
        let answer = queries.ask("SELECT 1", Engine::Sqlite).await;
        let error = answer.expect_err("no copy").to_string();
        assert!(error.contains("public.db.new"), "{error}");
    }
    std::fs::remove_dir(folder.path().join("public.db.new")).expect("removed");
    assert_eq!(first(&queries.ask("SELECT 1", Engine::Sqlite).await), "1");
}
