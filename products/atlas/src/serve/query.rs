//! A free query, as an address has it: `q`, `format`, `engine`.

use std::sync::Arc;

use super::reply::{CachePolicy, Frame, HTML, JSON, Reply};
use super::request::Refusal;
use super::store_query::values;
use crate::answer::csv_of;
use crate::error::Error;
use crate::page::{self, Reader};
use crate::sql::{Answer, Engine};

/// A request for a query.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Text of the query; empty: only the page with the form.
    pub text: String,
    pub engine: Engine,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Html,
    Json,
    Csv,
}

impl Query {
    pub fn read(query: &str) -> Result<Self, Error> {
        let [text, format, engine] = values(query, ["q", "format", "engine"], LONGEST)?;
        let format = match format.as_str() {
            "" | "html" => Format::Html,
            "json" => Format::Json,
            "csv" => Format::Csv,
            _ => return Err(Error::Asked("`format` must be html, json or csv".into())),
        };
        let engine = match engine.as_str() {
            "" => Engine::default(),
            word => Engine::of(word)
                .ok_or_else(|| Error::Asked("`engine` must be sqlite or duckdb".into()))?,
        };
        let text = text.trim().to_owned();
        if text.is_empty() && format != Format::Html {
            return Err(Error::Asked("`q` contains no query".into()));
        }
        Ok(Self {
            text,
            engine,
            format,
        })
    }

    /// Returns the result in the requested format.
    pub fn write(
        &self,
        reader: &Reader,
        answered: Option<Result<Arc<Answer>, Error>>,
    ) -> Result<Reply, Error> {
        let public =
            |media, text: String| Reply::new(media, text, CachePolicy::Minutes, Frame::Public);
        match (self.format, answered) {
            (Format::Html, answered) => Ok(self.page(reader, answered)),
            (_, Some(Err(error))) => Err(error),
            (Format::Json, Some(Ok(answer))) => {
                let text = serde_json::to_string(&*answer)
                    .map_err(|error| Error::Other(format!("writing JSON: {error}")))?;
                Ok(Reply {
                    truncated: answer.truncated,
                    ..public(JSON, text)
                })
            }
            (Format::Csv, Some(Ok(answer))) => Ok(Reply {
                truncated: answer.truncated,
                ..public("text/csv; charset=utf-8", csv(&answer)?)
            }),
            (_, None) => Err(Error::Asked("`q` contains no query".into())),
        }
    }

    fn page(&self, reader: &Reader, answered: Option<Result<Arc<Answer>, Error>>) -> Reply {
        let refusal = match &answered {
            Some(Err(error)) => Some(Refusal::of(error)),
            _ => None,
        };
        let answer = match (&answered, &refusal) {
            (Some(Ok(answer)), _) => Some(Ok(&**answer)),
            (_, Some(refusal)) => Some(Err(refusal.error.as_str())),
            _ => None,
        };
        let asked = page::sql::QueryPage {
            query: &self.text,
            engine: self.engine,
            answer,
        };
        let html = page::sql::page(reader, &asked);
        match refusal {
            Some(Refusal { status, .. }) => Reply {
                status,
                ..Reply::new(HTML, html, CachePolicy::No, Frame::Page)
            },
            None => Reply::new(HTML, html, CachePolicy::Minutes, Frame::Page),
        }
    }
}

/// Writes CSV. The last line reports missing rows, as files are often read without headers.
fn csv(answer: &Answer) -> Result<String, Error> {
    let columns = || answer.columns.iter().map(String::as_str);
    let mut text = csv_of(columns(), &answer.rows)?;
    if answer.truncated {
        let rows = answer.rows.len();
        let note = format!("TRUNCATED: the answer has more rows than these {rows}");
        text.push_str(&note);
        text.push_str(&",".repeat(answer.columns.len().saturating_sub(1)));
        text.push_str("\r\n");
    }
    Ok(text)
}

/// Largest query in an address, in bytes; the engine has its own limit.
const LONGEST: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use hyper::StatusCode;

    use super::*;
    use crate::figure::Cell;

    #[test]
    fn a_csv_that_was_cut_says_so_in_its_last_line() {
        let mut answer = Answer {
            columns: vec!["a".into(), "b".into()],
            rows: vec![vec![Cell::Whole(1), Cell::Whole(2)]],
            ..Answer::default()
        };
        assert_eq!(csv(&answer).expect("CSV"), "a,b\r\n1,2\r\n");
        answer.truncated = true;
        let cut = "a,b\r\n1,2\r\nTRUNCATED: the answer has more rows than these 1,\r\n";
        assert_eq!(csv(&answer).expect("CSV"), cut);
        let answered = || Some(Ok(Arc::new(answer.clone())));
        let reader = Reader::of_server("https://example.org");
        for format in ["csv", "json"] {
            let query = Query::read(&format!("q=1&format={format}")).expect("read");
            let reply = query.write(&reader, answered()).expect("written");
            let response = reply.respond(false, None);
            let header = response.headers().get("x-truncated");
            assert_eq!(
                header.map(|it| it.as_bytes()),
                Some(&b"true"[..]),
                "{format}"
            );
        }
    }

    #[test]
    fn as_addresses_have_it() {
        let query = Query::read("q=SELECT+1%3B&format=json&engine=duckdb&lang=de").expect("read");
        assert_eq!(query.text, "SELECT 1;");
        assert_eq!((query.format, query.engine), (Format::Json, Engine::Duckdb));
        for wrong in [
            "format=xml",
            "q=1&engine=x",
            "format=json",
            "q=%ff",
            "sql=1",
        ] {
            assert!(
                matches!(Query::read(wrong), Err(Error::Asked(_))),
                "{wrong}"
            );
        }
        assert_eq!(
            Refusal::of(&Error::Asked("no".into())).status,
            StatusCode::BAD_REQUEST
        );
    }
}
