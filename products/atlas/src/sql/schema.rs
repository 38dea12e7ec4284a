//! Documentation of the tables, from the comments of the SQL that makes them.

use super::public::{PRIVATE, VIEWS};
use crate::store::SCHEMA;

/// A table, or a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDoc {
    /// Name in queries.
    pub name: String,
    /// Description, in some sentences; may be empty.
    pub about: String,
    /// Columns, in order.
    pub columns: Vec<ColumnDoc>,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnDoc {
    /// Name in queries.
    pub name: String,
    /// Description; empty if the name suffices.
    pub about: String,
}

/// Returns the tables for queries: first the views for people, then the tables behind them.
pub fn schema() -> Vec<TableDoc> {
    let (views, tables): (Vec<_>, Vec<_>) = read(VIEWS)
        .into_iter()
        .chain(read(SCHEMA))
        .partition(|(is_view, _)| *is_view);
    let all = views.into_iter().chain(tables).map(|(_, table)| table);
    all.filter(|table| table.name != PRIVATE).collect()
}

/// Parses SQL in the form of `public.sql`: a comment above its subject, a line for each column.
fn read(sql: &str) -> Vec<(bool, TableDoc)> {
    let mut tables: Vec<(bool, TableDoc)> = Vec::new();
    let mut about = Vec::new();
    let mut inside = false;
    for line in sql.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("--") {
            about.push(comment.trim());
            continue;
        }
        let created = line.strip_prefix("CREATE TABLE ").map(|name| (false, name));
        let created =
            created.or_else(|| line.strip_prefix("CREATE VIEW ").map(|name| (true, name)));
        if let Some((is_view, name)) = created {
            inside = true;
            let table = TableDoc {
                name: name.trim_end_matches(" (").to_owned(),
                about: about.join(" "),
                columns: Vec::new(),
            };
            tables.push((is_view, table));
        } else if line.starts_with(')') || line.is_empty() {
            inside = false;
        } else if let (true, Some((_, table))) = (inside, tables.last_mut()) {
            let end = line.find([' ', ',']).unwrap_or(line.len());
            // A line in capitals is of the table: PRIMARY KEY.
            if line.starts_with(|first: char| first.is_lowercase()) {
                table.columns.push(ColumnDoc {
                    name: line[..end].to_owned(),
                    about: about.join(" "),
                });
            }
        }
        about.clear();
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::public;
    use crate::store::sample;

    #[test]
    fn all_that_can_be_asked_is_said_and_nothing_else() {
        let snapshot = sample::snapshot(436_128, vec![sample::entry(436_128, "a", 1)]);
        let (folder, _store) = sample::sample(&[snapshot]);
        public::make(folder.path()).expect("a copy");
        let copy = rusqlite::Connection::open(public::path(folder.path())).expect("open");
        let list = |sql: &str| -> Vec<String> {
            let mut read = copy.prepare(sql).expect("SQL");
            let rows = read.query_map([], |row| row.get(0)).expect("rows");
            rows.collect::<Result<_, _>>().expect("names")
        };
        let mut said = Vec::new();
        for table in schema() {
            let name = &table.name;
            let there = list(&format!("SELECT name FROM pragma_table_info('{name}')"));
            let columns: Vec<&String> = table.columns.iter().map(|column| &column.name).collect();
            assert_eq!(columns, there.iter().collect::<Vec<_>>(), "{name}");
            assert!(!table.about.contains("--"), "{name}: {}", table.about);
            said.push(table.name);
        }
        let named = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') \
                     AND name NOT LIKE 'sqlite_%'";
        let mut there = list(named);
        assert_eq!(said[0], "snapshots");
        said.sort();
        there.sort();
        assert_eq!(said, there);
        let of = |name: &str| schema().into_iter().find(|table| table.name == name);
        let snapshots = of("snapshots").expect("a view");
        assert!(snapshots.about.starts_with("What the directory said"));
        assert_eq!(snapshots.columns[2].about, "As it was then.");
        assert_eq!(of(PRIVATE), None);
    }
}
