//! Functions of free queries in addition to SQLite's own: `median`, `percentile`, `regexp`.

use regex::{Regex, RegexBuilder};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};

/// Largest pattern, and largest compiled form, in bytes.
const PATTERN: usize = 1000;
const COMPILED: usize = 1 << 20;
/// Bytes of the engine's memory for each number of which a percentile is taken: numbers are copied
/// when their list grows.
const OCTETS: u64 = 32;

/// Adds the functions. All one-time initialisation happens here, before the process is confined.
pub(super) fn add(store: &Connection, memory: u64) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    let most = usize::try_from(memory / OCTETS).unwrap_or(usize::MAX);
    store.create_aggregate_function("median", 1, flags, Percentile { most })?;
    store.create_aggregate_function("percentile", 2, flags, Percentile { most })?;
    store.create_scalar_function("regexp", 2, flags, matches)?;
    store.query_row("SELECT 'a' REGEXP 'A|b'", [], |_| Ok(()))
}

/// `percentile(x, 90)`: the value that nine of ten values do not exceed; between two numbers, in
/// proportion. `median(x)` is `percentile(x, 50)`.
struct Percentile {
    most: usize,
}

#[derive(Default)]
struct Numbers {
    all: Vec<f64>,
    part: Option<f64>,
}

impl Aggregate<Numbers, Option<f64>> for Percentile {
    fn init(&self, _: &mut Context<'_>) -> Result<Numbers> {
        Ok(Numbers::default())
    }

    fn step(&self, asked: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let part = match asked.len() {
            1 => 50.0,
            _ => asked.get::<f64>(1).unwrap_or(f64::NAN),
        };
        if !(0.0..=100.0).contains(&part) {
            return Err(refused(
                "percentile(x, p): p must be a number from 0 to 100",
            ));
        }
        if numbers.part.is_some_and(|before| before != part) {
            return Err(refused("percentile(x, p): p must be the same for all rows"));
        }
        numbers.part = Some(part);
        let number = match asked.get_raw(0) {
            ValueRef::Null => return Ok(()),
            ValueRef::Integer(number) => number as f64,
            ValueRef::Real(number) => number,
            _ => return Err(refused("median and percentile take numbers")),
        };
        if numbers.all.len() >= self.most {
            let most = self.most;
            return Err(refused(&format!(
                "median and percentile take at most {most} numbers: ask for a shorter span of time"
            )));
        }
        numbers.all.push(number);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, numbers: Option<Numbers>) -> Result<Option<f64>> {
        let Some(Numbers { mut all, part }) = numbers else {
            return Ok(None);
        };
        let Some(last) = all.len().checked_sub(1) else {
            return Ok(None);
        };
        all.sort_unstable_by(f64::total_cmp);
        let at = part.unwrap_or(50.0) / 100.0 * last as f64;
        let (low, high) = (all[at.floor() as usize], all[at.ceil() as usize]);
        let value = low + (high - low) * at.fract();
        Ok(Some(if low == high { low } else { value }))
    }
}

/// Evaluates `text REGEXP pattern`, which is `regexp(pattern, text)`.
fn matches(asked: &Context<'_>) -> Result<Option<bool>> {
    if asked.get_raw(0) == ValueRef::Null || asked.get_raw(1) == ValueRef::Null {
        return Ok(None);
    }
    let regex = asked.get_or_create_aux(0, |pattern| compiled(pattern.as_str()?))?;
    let number;
    let text = match asked.get_raw(1) {
        ValueRef::Integer(whole) => {
            number = whole.to_string();
            &number
        }
        ValueRef::Real(real) => {
            number = real.to_string();
            &number
        }
        other => other.as_str().map_err(|_| refused("regexp takes texts"))?,
    };
    Ok(Some(regex.is_match(text)))
}

type Boxed = Box<dyn std::error::Error + Send + Sync>;

fn compiled(pattern: &str) -> Result<Regex, Boxed> {
    if pattern.len() > PATTERN {
        return Err(format!("the pattern of regexp has more than {PATTERN} octets").into());
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(COMPILED)
        .dfa_size_limit(COMPILED)
        .nest_limit(50)
        .build();
    built.map_err(|error| format!("the pattern of regexp: {error}").into())
}

fn refused(why: &str) -> Error {
    Error::UserFunctionError(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Connection {
        let store = Connection::open_in_memory().expect("memory");
        add(&store, 4096).expect("added");
        store
    }

    fn ask(sql: &str) -> Option<f64> {
        store().query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    fn error(sql: &str) -> String {
        let answer = store().query_row(sql, [], |row| row.get::<_, Option<f64>>(0));
        answer.expect_err(sql).to_string()
    }

    #[test]
    fn medians_and_percentiles() {
        let of = "(SELECT 1 AS x UNION ALL SELECT 4 UNION ALL SELECT NULL UNION ALL SELECT 2.5)";
        for (sql, value) in [
            ("median(x)", 2.5),
            ("percentile(x, 50)", 2.5),
            ("percentile(x, 0)", 1.0),
            ("percentile(x, 100)", 4.0),
            ("percentile(x, 75)", 3.25),
            ("median(x + 0) + max(x)", 6.5),
        ] {
            assert_eq!(
                ask(&format!("SELECT {sql} FROM {of}")),
                Some(value),
                "{sql}"
            );
        }
        assert_eq!(ask("SELECT median(NULL)"), None);
        assert_eq!(
            ask(&format!("SELECT median(x) FROM {of} WHERE x > 9")),
            None
        );
        assert_eq!(ask("SELECT median(9e999)"), Some(f64::INFINITY));
        assert!(error("SELECT median('a')").contains("numbers"));
        assert!(error("SELECT percentile(1, 101)").contains("0 to 100"));
        assert!(error("SELECT percentile(1, NULL)").contains("0 to 100"));
        assert!(error(&format!("SELECT percentile(x, x) FROM {of}")).contains("same for all"));
        let many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 999)";
        assert!(error(&format!("{many} SELECT median(x) FROM n")).contains("at most 128"));
    }

    #[test]
    fn patterns() {
        for (sql, value) in [
            ("'Freifunk Ulm' REGEXP '^Freifunk\\s'", Some(1.0)),
            ("'Freifunk Ulm' REGEXP '(?i)ULM$'", Some(1.0)),
            ("'Freifunk Ulm' REGEXP 'ULM'", Some(0.0)),
            ("regexp('^1', 123)", Some(1.0)),
            ("'F\u{fc}rth' REGEXP '^F.rth$'", Some(1.0)),
            ("NULL REGEXP 'a'", None),
            ("'a' REGEXP NULL", None),
            ("'a' NOT REGEXP 'a'", Some(0.0)),
        ] {
            assert_eq!(ask(&format!("SELECT {sql}")), value, "{sql}");
        }
        assert!(error("SELECT 'a' REGEXP '('").contains("the pattern of regexp"));
        assert!(error("SELECT 'a' REGEXP '(a{1000}){1000}'").contains("the pattern of regexp"));
        let long = "a".repeat(1001);
        assert!(error(&format!("SELECT 'a' REGEXP '{long}'")).contains("1000 octets"));
    }
}
