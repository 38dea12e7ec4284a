//! Query strings as types.

use crate::percent;
use crate::problem::{Problem, clipped};

pub use net::digits::decimal as number;
pub use percent::decode_query as decode;

/// Names and values of a query string, decoded, in the order in which they were given.
pub type Pairs = [(String, String)];

/// Typed query of a route: parses the strings that it writes.
pub trait Query: Sized {
    /// Parses names and values. Each unknown name is a problem.
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem>;

    /// Returns the query string without the question mark; empty if all is default.
    fn to_query(&self) -> String;
}

/// Query of a route that takes no parameters.
impl Query for () {
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        if pairs.is_empty() {
            return Ok(());
        }
        Err(Problem::new(
            400,
            "unknown_parameter",
            "this path takes no query parameters",
            "remove the question mark and everything after it",
        ))
    }

    fn to_query(&self) -> String {
        String::new()
    }
}

/// Returns a path with a query string.
pub fn with_query(path: &str, query: &impl Query) -> String {
    match query.to_query() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Reads a query string, without the question mark.
pub fn read<Q: Query>(query: &str) -> Result<Q, Problem> {
    let pairs = percent::decode_query(query).ok_or_else(|| {
        Problem::new(
            400,
            "malformed_query",
            "the query string is not percent-encoded text",
            "encode it as in RFC 3986: %XX with two hexadecimal digits, of UTF-8 text",
        )
    })?;
    Q::from_pairs(&pairs)
}

/// Writes names and values as a query string; those without a value are left out.
pub fn encode<'a>(pairs: impl IntoIterator<Item = (&'a str, Option<String>)>) -> String {
    let given = pairs.into_iter();
    percent::encode_query(given.filter_map(|(name, value)| Some((name, value?))))
}

/// Returns the problem that a parameter has an invalid value.
pub fn wrong(name: &str, value: &str, allowed: &str) -> Problem {
    Problem::new(
        400,
        "wrong_parameter",
        format!("invalid value `{}` of `{name}`", clipped(value)),
        format!("give {allowed}"),
    )
}

/// Returns the problem that a path lacks this parameter; `parameters` lists the valid ones.
pub fn unknown(path: &str, name: &str, parameters: &str) -> Problem {
    let detail = format!("`{}` is not a parameter of {path}", clipped(name));
    Problem::new(400, "unknown_parameter", detail, parameters)
}
