//! A free query, as an address has it: `q`, `format`, `engine`.

use std::sync::Arc;

use super::question::values;
use super::reply::{Frame, HTML, JSON, Kept, Reply};
use super::visit::Refusal;
use crate::answer::csv_of;
use crate::error::Error;
use crate::page::{self, Reader};
use crate::sql::{Answer, Engine};

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Empty: nothing, but the page where one writes it.
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
            _ => return Err(Error::Asked("`format` is html, json or csv".into())),
        };
        let engine = match engine.as_str() {
            "" => Engine::default(),
            word => Engine::of(word)
                .ok_or_else(|| Error::Asked("`engine` is sqlite or duckdb".into()))?,
        };
        let text = text.trim().to_owned();
        if text.is_empty() && format != Format::Html {
            return Err(Error::Asked("`q` has no query in it".into()));
        }
        Ok(Self {
            text,
            engine,
            format,
        })
    }

    /// What was answered, in the format that was asked for.
    pub fn write(
        &self,
        reader: &Reader,
        answered: Option<Result<Arc<Answer>, Error>>,
    ) -> Result<Reply, Error> {
        let public = |media, text: String| Reply::new(media, text, Kept::Minutes, Frame::Public);
        match (self.format, answered) {
            (Format::Html, answered) => Ok(self.page(reader, answered)),
            (_, Some(Err(error))) => Err(error),
            (Format::Json, Some(Ok(answer))) => {
                let text = serde_json::to_string(&*answer)
                    .map_err(|error| Error::Other(format!("writing JSON: {error}")))?;
                Ok(public(JSON, text))
            }
            (Format::Csv, Some(Ok(answer))) => {
                let columns = answer.columns.iter().map(String::as_str);
                let text = csv_of(columns, &answer.rows)?;
                Ok(public("text/csv; charset=utf-8", text))
            }
            (_, None) => Err(Error::Asked("`q` has no query in it".into())),
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
        let asked = page::sql::Asked {
            query: &self.text,
            engine: self.engine,
            answer,
        };
        let html = page::sql::page(reader, &asked);
        match refusal {
            Some(Refusal { status, .. }) => Reply {
                status,
                ..Reply::new(HTML, html, Kept::No, Frame::Page)
            },
            None => Reply::new(HTML, html, Kept::Minutes, Frame::Page),
        }
    }
}

/// Octets of a query; it says itself how long it may be.
const LONGEST: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use hyper::StatusCode;

    use super::*;

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
