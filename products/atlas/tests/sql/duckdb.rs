//! Queries by DuckDB.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use atlas::Error;
use atlas::figure::Cell;
use atlas::sql::{Engine, Queries, Settings};
use testing::Directory;

use crate::common::*;

/// The views that weir-atlas makes for the engine.
const VIEWS: [&str; 8] = [
    "snapshots",
    "growth",
    "growth_days",
    "growth_hours",
    "community_months",
    "community_days",
    "directory",
    "protocols",
];

/// scripts/setup installs the program next to cargo's output.
fn program() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let program = target.with_file_name("tools/engines/bin/duckdb");
    let there = program.canonicalize();
    there
        .unwrap_or_else(|error| panic!("{}: {error}: scripts/setup installs it", program.display()))
}

pub fn settings(folder: &Directory, seconds: u32) -> Settings {
    Settings {
        duckdb: Some(program()),
        ..settings_of(folder, seconds)
    }
}

#[test]
fn it_says_the_same_as_sqlite() {
    let folder = sample(30);
    let ask = |engine, sql: &str| {
        let answer = atlas::sql::query(settings(&folder, 5), sql, engine);
        let answer = answer.expect(sql);
        (answer.columns.clone(), answer.rows.clone())
    };
    for view in VIEWS {
        let sql = format!("SELECT * FROM {view} ORDER BY ALL");
        let (columns, rows) = ask(Engine::Duckdb, &sql);
        let order: Vec<String> = (1..=columns.len()).map(|at| at.to_string()).collect();
        let sql = format!("SELECT * FROM {view} ORDER BY {}", order.join(", "));
        assert!(!rows.is_empty(), "{view}");
        assert_eq!((columns, rows), ask(Engine::Sqlite, &sql), "{view}");
    }
    let sql = "SELECT median(nodes) AS m, round(percentile(nodes, 90), 6) AS p FROM snapshots \
               WHERE regexp('^Freifunk Ber', name)";
    assert_eq!(ask(Engine::Duckdb, sql), ask(Engine::Sqlite, sql));
    let sql = "SELECT 1 AS a, NULL AS a, 'it''s \\ \"a\" ö' AS \"b c\", 0.5::DOUBLE AS d -- end";
    let (columns, rows) = ask(Engine::Duckdb, sql);
    assert_eq!(columns, ["a", "a_1", "b c", "d"]);
    let text = Cell::Text("it's \\ \"a\" ö".into());
    assert_eq!(
        rows,
        [[Cell::Whole(1), Cell::Nothing, text, Cell::Real(0.5)]]
    );
    let (columns, rows) = ask(Engine::Duckdb, "SELECT key FROM directory WHERE false");
    assert_eq!((columns, rows.len()), (vec!["key".to_owned()], 0));
    let sql = "FROM growth_hours\nSELECT t\nWHERE t >= '2019-10-02'\nORDER BY t DESC;";
    let (_, rows) = ask(Engine::Duckdb, sql);
    assert_eq!(rows[0], [Cell::Text("2019-10-02T05:00:00Z".into())]);
    assert_eq!(rows.len(), 6);
}

#[test]
fn where_it_is_not_the_fix_is_said() {
    let folder = sample(1);
    let without = Settings {
        duckdb: None,
        ..settings(&folder, 5)
    };
    let answer = atlas::sql::query(without, "SELECT 1", Engine::Duckdb);
    let error = answer.expect_err("there is none").to_string();
    assert!(error.starts_with("DuckDB is not installed here"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attacks_are_refused_or_bounded() {
    let folder = sample(2);
    let queries = Queries::new(settings(&folder, 1));
    let data = folder.path().display();
    let outside = std::env::temp_dir().join("weir-atlas-attack");
    let outside = outside.display();
    let refused = [
        "DROP VIEW growth".to_owned(),
        "CREATE TABLE x (y INTEGER)".into(),
        "SELECT 1; SELECT 2".into(),
        "SELECT 1); DROP VIEW growth; --".into(),
        "SELECT 1'); DROP VIEW growth; SELECT query('".into(),
        "SELECT 1\\'); DROP VIEW growth; SELECT query(\\'".into(),
        ".shell id".into(),
        "\n.shell id\n".into(),
        "SELECT 1 /*\n.shell id\n*/ FROM nowhere".into(),
        "ATTACH '/etc/passwd' AS x".into(),
        format!("ATTACH '{data}/atlas.db' AS x (TYPE sqlite)"),
        format!("COPY growth TO '{outside}'"),
        format!("COPY growth TO '{data}/parquet/x.csv'"),
        "INSTALL httpfs".into(),
        "LOAD httpfs".into(),
        "SET enable_external_access = true".into(),
        "SET lock_configuration = false".into(),
        "RESET ALL".into(),
        "PRAGMA version".into(),
        "CALL pragma_version()".into(),
        "EXPORT DATABASE '/tmp/weir-atlas-attack'".into(),
        "SELECT * FROM read_csv('/etc/passwd')".into(),
        "SELECT * FROM read_text('/etc/hostname')".into(),
        "SELECT * FROM read_blob('/proc/self/environ')".into(),
        format!("SELECT * FROM read_text('{data}/parquet/../atlas.db')"),
        format!("SELECT * FROM read_blob('{data}/atlas.db')"),
        "SELECT * FROM '/etc/passwd'".into(),
        "SELECT * FROM glob('/etc/*')".into(),
        "SELECT * FROM read_parquet('https://127.0.0.1:9/x.parquet')".into(),
        "SELECT * FROM read_json('http://127.0.0.1:9/')".into(),
        "SELECT * FROM sqlite_scan('/etc/passwd', 'x')".into(),
        "SELECT * FROM query('DROP VIEW growth')".into(),
        "SELECT getenv('PATH') FROM nowhere".into(),
        "SELECT \u{0}".into(),
        String::new(),
    ];
    for sql in &refused {
        let answer = queries.ask(sql, Engine::Duckdb).await;
        assert!(matches!(answer, Err(Error::Asked(_))), "{sql}: {answer:?}");
        let error = answer.expect_err("refused").to_string();
        assert!(!error.contains("query(E'"), "{sql}: {error}");
    }
    let bounded = [
        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range % 7 = b.range",
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT max(n) FROM x",
        "SELECT string_agg(repeat('x', 1000000), '') FROM range(100000)",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY hash(range)) FROM range(1000000000))",
        "SELECT length(repeat('x', 4000000000))",
    ];
    for sql in bounded {
        let begun = Instant::now();
        let answer = queries.ask(sql, Engine::Duckdb).await;
        let refused = matches!(answer, Err(Error::Beyond(_) | Error::Asked(_)));
        assert!(refused, "{sql}: {answer:.300?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{sql}");
    }
    // More than an answer may have.
    let many = queries
        .ask("SELECT range FROM range(1000000)", Engine::Duckdb)
        .await;
    let many = many.expect("an answer");
    assert!(many.rows.len() == 10_000 && many.truncated);
    let long = "SELECT repeat('x', 10000) FROM range(1000)";
    let long = queries.ask(long, Engine::Duckdb).await.expect("an answer");
    assert!(long.truncated && long.rows.len() > 300 && long.rows.len() < 500);
    assert!(!std::path::Path::new("/tmp/weir-atlas-attack").exists());
    let after = queries
        .ask("SELECT count(*) FROM snapshots", Engine::Duckdb)
        .await;
    assert_eq!(first(&after), "6");
    assert_eq!(queries.counts().failed, 0);
    // A client that disconnects.
    let slow = "SELECT sum(hash(range) % 7) FROM range(100000000000)";
    let asked = queries.ask(slow, Engine::Duckdb);
    assert!(
        tokio::time::timeout(Duration::from_millis(300), asked)
            .await
            .is_err()
    );
    nobody_is_left(&folder).await;
}
