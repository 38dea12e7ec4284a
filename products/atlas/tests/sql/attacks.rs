//! Hostile SQL: each attack is refused or bounded, and the next query works.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::*;
use atlas::Error;
use atlas::sql::{Engine, Queries};

/// Result of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// An error with the fault.
    Refused,
    /// An error for exceeding a limit.
    Beyond,
    /// Either error, depending on the machine's speed.
    Either,
    /// Harmless, and answered.
    Harmless,
}
use End::{Beyond, Either, Harmless, Refused};

const ATTACKS: &[(&str, End)] = &[
    // Attempts to write.
    ("INSERT INTO communities (id, key) VALUES (9, 'x')", Refused),
    ("UPDATE communities SET key = 'x'", Refused),
    ("DELETE FROM observations", Refused),
    ("DELETE FROM observations RETURNING *", Refused),
    ("INSERT INTO meta VALUES (1) RETURNING version", Refused),
    ("REPLACE INTO communities (id, key) VALUES (1, 'x')", Refused),
    ("DROP TABLE observations", Refused),
    ("DROP VIEW growth", Refused),
    ("CREATE TABLE x (y)", Refused),
    ("CREATE TEMP TABLE x AS SELECT * FROM snapshots", Refused),
    ("CREATE TEMP VIEW x AS SELECT 1", Refused),
    ("CREATE TRIGGER x AFTER INSERT ON meta BEGIN SELECT 1; END", Refused),
    ("CREATE INDEX x ON observations (nodes)", Refused),
    ("CREATE VIRTUAL TABLE temp.x USING fts5(y)", Refused),
    ("CREATE VIRTUAL TABLE x USING rtree(id, a, b)", Refused),
    ("CREATE VIRTUAL TABLE temp.x USING dbstat", Refused),
    ("ALTER TABLE meta ADD COLUMN x", Refused),
    ("WITH x AS (SELECT 1) DELETE FROM meta", Refused),
    ("EXPLAIN DELETE FROM meta", Refused),
    ("REINDEX", Refused),
    ("ANALYZE", Refused),
    ("VACUUM", Refused),
    ("VACUUM INTO '/tmp/weir-atlas-attack.db'", Refused),
    ("BEGIN", Refused),
    ("BEGIN EXCLUSIVE", Refused),
    ("COMMIT", Refused),
    ("SAVEPOINT x", Refused),
    // Attempts to reach other files.
    ("ATTACH '/etc/passwd' AS x", Refused),
    ("ATTACH ':memory:' AS x", Refused),
    ("ATTACH 'file:/tmp/weir-atlas-attack.db?mode=rwc' AS x", Refused),
    ("DETACH main", Refused),
    ("SELECT load_extension('/usr/lib/x.so')", Refused),
    ("SELECT LOAD_EXTENSION('x', 'y')", Refused),
    ("SELECT readfile('/etc/passwd')", Refused),
    ("SELECT writefile('/tmp/weir-atlas-attack', 'x')", Refused),
    ("SELECT edit('x')", Refused),
    ("SELECT fts3_tokenizer('simple')", Refused),
    ("SELECT fts3_tokenizer('x', X'0000000000000000')", Refused),
    ("SELECT * FROM fts3tokenize('simple', 'a b')", Refused),
    ("SELECT * FROM fsdir('/')", Refused),
    ("SELECT * FROM dbstat", Refused),
    ("SELECT count(*) FROM dbstat", Refused),
    ("SELECT count(*) FROM pragma_integrity_check", Refused),
    ("SELECT count(*) FROM files", Refused),
    ("SELECT * FROM sqlite_dbpage", Refused),
    ("SELECT * FROM files", Refused),
    ("SELECT * FROM store.files", Refused),
    // Attempts to change the engine.
    ("PRAGMA writable_schema = 1", Refused),
    ("PRAGMA query_only = 0", Refused),
    ("PRAGMA trusted_schema = 1", Refused),
    ("PRAGMA hard_heap_limit = 0", Refused),
    ("PRAGMA temp_store_directory = '/tmp'", Refused),
    ("PRAGMA mmap_size = 1000000000000", Refused),
    ("PRAGMA cache_size = 1000000000", Refused),
    ("PRAGMA journal_mode = DELETE", Refused),
    ("PRAGMA database_list", Refused),
    ("SELECT * FROM pragma_database_list", Refused),
    ("PRAGMA integrity_check", Refused),
    ("PRAGMA wal_checkpoint", Refused),
    ("PRAGMA optimize", Refused),
    ("PRAGMA main.user_version = 7", Refused),
    // Several statements, or none.
    ("SELECT 1; DELETE FROM meta", Refused),
    ("SELECT 1; SELECT 2", Refused),
    ("SELECT 1; x", Refused),
    ("", Refused),
    (";;;;", Refused),
    ("-- nothing", Refused),
    ("/*", Refused),
    ("SELECT", Refused),
    ("SELECT ?1", Refused),
    ("SELECT \u{0}", Refused),
    ("SELECT 1 \u{0}; DELETE FROM meta", Refused),
    ("SELECT 'x", Refused),
    (".shell id", Refused),
    // Endless queries.
    ("WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT max(n) FROM x", Beyond),
    ("WITH RECURSIVE x(n) AS (SELECT 1 UNION SELECT n + 1 FROM x) SELECT max(n) FROM x", Either),
    ("WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT n FROM x", Harmless),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT n FROM x WHERE n < 0",
        Beyond,
    ),
    (
        "SELECT count(*) FROM observations a, observations b, observations c, observations d,
         observations e",
        Beyond,
    ),
    (
        "SELECT sum(abs(a.nodes * b.nodes)) FROM snapshots a, snapshots b, snapshots c, snapshots d,
         snapshots e",
        Beyond,
    ),
    (
        "WITH a AS (SELECT 1 x UNION ALL SELECT 2), b AS (SELECT * FROM a, a), c AS (SELECT * FROM b, b),
         d AS (SELECT * FROM c, c), e AS (SELECT * FROM d, d), f AS (SELECT * FROM e, e),
         g AS (SELECT * FROM f, f), h AS (SELECT * FROM g, g), i AS (SELECT * FROM h, h),
         j AS (SELECT * FROM i, i), k AS (SELECT * FROM j, j) SELECT count(*) FROM k, k",
        Either,
    ),
    (
        "SELECT count(*) FROM observations a, observations b
         WHERE printf('%1000000d', a.nodes) LIKE '%1%2%3%4%5%6%7%8%9%0%a%b%c%d%e%f%'",
        Harmless,
    ),
    (
        "SELECT printf('%1000000d', 1) GLOB '*a*a*a*a*a*a*a*a*a*a*a*a*a*b' || printf('%50d', 1)",
        Harmless,
    ),
    (
        "SELECT replace(printf('%.900000c', 'a'), 'a', 'a') LIKE '%a%a%a%a%a%a%a%a%a%b%'",
        Harmless,
    ),
    ("SELECT instr(zeroblob(999999), zeroblob(499999) || X'01')", Beyond),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x LIMIT 100000)
         SELECT sum(instr(zeroblob(999999), CAST(zeroblob(499999) || 'x' AS BLOB)) + n) FROM x",
        Either,
    ),
    (
        "SELECT row_number() OVER (ORDER BY a.nodes) FROM observations a, observations b, observations c,
         observations d LIMIT 1 OFFSET 1000000000",
        Either,
    ),
    // Queries that need memory.
    ("SELECT zeroblob(1000000000)", Refused),
    ("SELECT randomblob(1000000000)", Refused),
    ("SELECT length(zeroblob(2147483647))", Refused),
    ("SELECT hex(zeroblob(1000000))", Refused),
    ("SELECT printf('%.1000000000d', 1)", Refused),
    ("SELECT printf('%*d', 2147483647, 1)", Refused),
    ("SELECT replace(printf('%.9000c', 'a'), 'a', printf('%.9000c', 'b'))", Refused),
    ("SELECT quote(zeroblob(1000000))", Refused),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)
         SELECT group_concat(printf('%1000d', n)) FROM x",
        Either,
    ),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)
         SELECT json_group_array(n) FROM x",
        Either,
    ),
    (
        "WITH RECURSIVE x(t) AS (SELECT 'x' UNION ALL SELECT t || t FROM x) SELECT length(t) FROM x",
        Refused,
    ),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)
         SELECT n FROM x ORDER BY randomblob(900000)",
        Either,
    ),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)
         SELECT count(DISTINCT printf('%1000d', n)) FROM x",
        Either,
    ),
    ("SELECT json(printf('%.900000c', '['))", Refused),
    ("SELECT json_extract('{}', printf('%.900000c', '$'))", Refused),
    ("SELECT value FROM json_each(printf('[%.*c0]', 800000, '0'))", Refused),
    (
        "SELECT count(*) FROM json_each('[1,2,3,4,5,6,7,8,9]') a, json_each('[1,2,3,4,5,6,7,8,9]') b,
         json_each('[1,2,3,4,5,6,7,8,9]') c, json_each('[1,2,3,4,5,6,7,8,9]') d,
         json_each('[1,2,3,4,5,6,7,8,9]') e, json_each('[1,2,3,4,5,6,7,8,9]') f,
         json_each('[1,2,3,4,5,6,7,8,9]') g, json_each('[1,2,3,4,5,6,7,8,9]') h,
         json_each('[1,2,3,4,5,6,7,8,9]') i, json_each('[1,2,3,4,5,6,7,8,9]') j",
        Beyond,
    ),
    ("SELECT strftime(printf('%.900000c', '%'), 'now')", Harmless),
    ("SELECT 'x' REGEXP '(a*)*b'", Harmless),
    ("SELECT 'x' REGEXP '(a{1000}){1000}'", Refused),
    ("SELECT regexp('(', 'x')", Refused),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT median(n) FROM x",
        Either,
    ),
    ("SELECT * FROM generate_series(1, 1000000000000)", Refused),
    // Harmless queries.
    ("SELECT datetime('now', 'localtime')", Harmless),
    ("SELECT random(), randomblob(8), sqlite_version()", Harmless),
    ("SELECT * FROM sqlite_schema", Harmless),
    ("SELECT * FROM pragma_table_info('snapshots')", Harmless),
    ("PRAGMA table_info(snapshots)", Harmless),
    ("EXPLAIN QUERY PLAN SELECT * FROM snapshots WHERE t > '2019'", Harmless),
    ("SELECT 9e999, -9e999, NULL, X'00ff', 9223372036854775807", Harmless),
    ("SELECT '<script>alert(1)</script>'", Harmless),
    ("VALUES (1), (2)", Harmless),
    ("WITH x AS (SELECT 1 UNION ALL SELECT 2) SELECT count(*) FROM x", Harmless),
    ("SELECT 1;", Harmless),
    ("SELECT 1; -- and that was all", Harmless),
];

/// Runs a query, and reports violations.
async fn try_one(queries: &Queries, sql: &str, end: End) -> Option<String> {
    let begun = Instant::now();
    let answered = queries.ask(sql, Engine::Sqlite).await;
    let took = begun.elapsed();
    let right = matches!(
        (&answered, end),
        (Ok(_), Harmless)
            | (Err(Error::Asked(_)), Refused | Either)
            | (Err(Error::Beyond(_)), Beyond | Either)
    );
    let told = match &answered {
        Ok(answer) => format!("{:.200}", format!("{:?}", answer.rows)),
        Err(error) => error.to_string(),
    };
    let short = told.chars().count() < 600;
    let shown: String = sql.chars().take(160).collect();
    let wrong = !right || !short || took > Duration::from_secs(10);
    wrong.then(|| format!("{shown}\n  {end:?} in {took:?}: {told}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_is_refused_or_bounded_and_the_next_query_works() {
    let folder = sample(30);
    let queries = Arc::new(queries(&folder, 1));
    let mut long: Vec<(String, End)> = vec![
        (format!("SELECT 1{}", "; SELECT 1".repeat(1500)), Refused),
        (";".repeat(16_000), Refused),
        (format!("SELECT 1{}x", ";".repeat(16_000)), Refused),
        (
            format!("SELECT {}1{}", "(".repeat(8000), ")".repeat(8000)),
            Refused,
        ),
        (format!("SELECT 1{}", " + 1".repeat(3000)), Refused),
        (format!("SELECT {}1", "-".repeat(8000) + "\n"), Harmless),
        (format!("SELECT {}1", "- ".repeat(8000)), Refused),
        (
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(500)),
            Refused,
        ),
        (format!("SELECT 1{}", ", 1".repeat(500)), Refused),
        (
            format!("SELECT * FROM meta{}", ", meta".repeat(100)),
            Refused,
        ),
        (format!("SELECT '{}'", "x".repeat(20_000)), Refused),
        (format!("SELECT max(1{})", ", 1".repeat(200)), Refused),
        (
            format!("SELECT 1 WHERE 'a' LIKE '{}'", "%".repeat(200)),
            Refused,
        ),
        (
            format!(
                "SELECT * FROM {}meta{}",
                "(SELECT * FROM ".repeat(500),
                ")".repeat(500)
            ),
            Refused,
        ),
        (
            format!(
                "SELECT CASE {} END",
                "WHEN 1 THEN CASE WHEN 1 THEN 2 END ".repeat(400)
            ),
            Harmless,
        ),
        (format!("SELECT {}", "x".repeat(16_000)), Refused),
        (format!("{}SELECT 1", "/* */ ".repeat(2000)), Harmless),
    ];
    long.extend(ATTACKS.iter().map(|(sql, end)| ((*sql).to_owned(), *end)));
    let mut wrong = Vec::new();
    for two in long.chunks(2) {
        let asked = two.iter().map(|(sql, end)| {
            let (queries, sql, end) = (queries.clone(), sql.clone(), *end);
            tokio::spawn(async move { try_one(&queries, &sql, end).await })
        });
        for tried in asked.collect::<Vec<_>>() {
            wrong.extend(tried.await.expect("no panic"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let after = queries
        .ask("SELECT count(*) FROM snapshots", Engine::Sqlite)
        .await;
    assert_eq!(first(&after), "90");
    assert!(!std::path::Path::new("/tmp/weir-atlas-attack.db").exists());
    // The largest of all processes that answered.
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    let kilobytes = usage.expect("usage").max_rss();
    assert!(kilobytes < 256 << 10, "{kilobytes} KB");
    assert_eq!(queries.counts().failed, 0);
    nobody_is_left(&folder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_wait_in_line_or_are_sent_away() {
    let folder = sample(2);
    let queries = Arc::new(queries(&folder, 1));
    queries
        .ask("SELECT 1", Engine::Sqlite)
        .await
        .expect("a copy");
    let asked = (0..50).map(|number| {
        let queries = queries.clone();
        let sql = format!("SELECT {number} FROM {SLOW}");
        tokio::spawn(async move { queries.ask(&sql, Engine::Sqlite).await })
    });
    let asked: Vec<_> = asked.collect();
    let (mut busy, mut beyond) = (0, 0);
    let mut most = 0;
    while asked.iter().any(|task| !task.is_finished()) {
        most = most.max(workers(&folder));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for task in asked {
        match task.await.expect("no panic") {
            Err(Error::Busy(_)) => busy += 1,
            Err(Error::Beyond(_)) => beyond += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(most, 2, "at once");
    assert!(busy >= 32, "{busy} were sent away");
    assert!(beyond >= 4, "{beyond} had their second");
    let counts = queries.counts();
    assert_eq!((counts.running, counts.waiting), (0, 0));
    assert_eq!((counts.busy, counts.bounded), (busy, beyond));
    let after = queries.ask("SELECT 7", Engine::Sqlite).await;
    assert_eq!(first(&after), "7");
    nobody_is_left(&folder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_process_is_left_of_a_client_that_goes() {
    let folder = sample(2);
    let queries = queries(&folder, 60);
    queries
        .ask("SELECT 1", Engine::Sqlite)
        .await
        .expect("a copy");
    for round in 0..10_u64 {
        let sql = format!("SELECT {round} FROM {SLOW}");
        let asked = queries.ask(&sql, Engine::Sqlite);
        let time = Duration::from_millis(round * 30);
        assert!(tokio::time::timeout(time, asked).await.is_err());
    }
    nobody_is_left(&folder).await;
    let counts = queries.counts();
    assert_eq!((counts.left, counts.running, counts.waiting), (10, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_octets_end_in_time() {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    let folder = sample(2);
    let queries = queries(&folder, 1);
    let mut runner = TestRunner::deterministic();
    let words = "SELECT|FROM|WHERE|snapshots|t|nodes|(|)|,|*|1|'x'|\"y\"|;|WITH|RECURSIVE|AS|UNION|\
                 ALL|JOIN|ORDER BY|LIMIT|PRAGMA|ATTACH|json_each|printf|zeroblob|-|||:a|?|\n|--|/*|'";
    let words: Vec<&'static str> = words.split('|').collect();
    let word = proptest::sample::select(words);
    let words = proptest::collection::vec(word, 1..40).prop_map(|words| words.join(" "));
    let octets = ".{0,200}".boxed();
    let any = proptest::prop_oneof![words, octets];
    for _ in 0..100 {
        let sql = any.new_tree(&mut runner).expect("a query").current();
        let begun = Instant::now();
        let answered = queries.ask(&sql, Engine::Sqlite).await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{sql}");
        let known = matches!(answered, Ok(_) | Err(Error::Asked(_) | Error::Beyond(_)));
        assert!(known, "{sql}: {answered:?}");
    }
    nobody_is_left(&folder).await;
}

#[test]
fn a_worker_says_what_octets_that_are_no_text_are() {
    let folder = sample(1);
    copy(&folder);
    for octets in [
        &b"SELECT '\xff'"[..],
        b"\xc0\x80",
        &[0; 100],
        &[0xff; 20_000],
    ] {
        let said = worker(&folder, octets);
        assert!(said.starts_with("{\"refused\":"), "{said}");
    }
    assert!(worker(&folder, b"SELECT 1").starts_with("{\"answer\":"));
}

#[test]
fn a_worker_ends_by_itself_before_it_is_ended() {
    let folder = sample(1);
    copy(&folder);
    let slow = format!("SELECT * FROM {SLOW}");
    assert_eq!(worker(&folder, slow.as_bytes()), "\"long\"");
    let large = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x LIMIT 1000)
                 SELECT n FROM x ORDER BY zeroblob(900000) || n";
    assert_eq!(worker(&folder, large.as_bytes()), "\"large\"");
}

#[test]
fn who_is_no_server_gets_the_same() {
    let folder = sample(3);
    let settings = settings_of(&folder, 1);
    let answer = atlas::sql::query(settings.clone(), "SELECT 1 AS a, 'x' AS a", Engine::Sqlite);
    let answer = answer.expect("an answer");
    assert_eq!(answer.columns, ["a", "a"]);
    assert!(!answer.truncated);
    let wrong = atlas::sql::query(settings, "SELECT nodse FROM growth", Engine::Sqlite);
    let wrong = wrong.expect_err("no such column").to_string();
    assert_eq!(wrong, "no such column: nodse (character 8)");
    drop(Queries::new(settings_of(&folder, 1)));
}
