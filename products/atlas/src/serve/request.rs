//! A request, and the answers to invalid ones.

use std::sync::Arc;

use hyper::StatusCode;

use super::reply::{CachePolicy, Frame, HTML, JSON, Reply};
use super::route;
use crate::chart_query::Theme;
use crate::error::Error;
use crate::page::{self, Places, Reader, To};
use crate::text::Language;

/// The relevant parts of a request.
pub(super) struct Visit<'a> {
    pub path: &'a str,
    pub query: &'a str,
    pub places: Arc<Places>,
    /// Language that the browser prefers.
    pub prefers: Language,
    /// True if the client prefers JSON to a page.
    pub program: bool,
}

/// A refused request.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub error: String,
    pub hint: String,
}

impl Visit<'_> {
    pub fn reader(&self) -> Reader {
        let pairs = api::query::decode(self.query).unwrap_or_default();
        let value = |name: &str| {
            let found = pairs.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.trim())
        };
        let told = match value("lang") {
            Some("en") => Some(Language::English),
            Some("de") => Some(Language::German),
            _ => None,
        };
        Reader {
            places: Arc::clone(&self.places),
            language: told.unwrap_or(self.prefers),
            told: told.is_some(),
            theme: match value("theme") {
                Some("light") => Theme::Light,
                Some("dark") => Theme::Dark,
                _ => Theme::Auto,
            },
        }
    }

    /// Returns a refusal: a page for people, JSON for programs.
    pub fn refuse(&self, refusal: &Refusal) -> Reply {
        let Refusal {
            status,
            error,
            hint,
        } = refusal;
        let mut reply = match self.is_of_a_program() {
            true => {
                let told = serde_json::json!({ "error": error, "hint": hint });
                Reply::new(JSON, told.to_string(), CachePolicy::No, Frame::Public)
            }
            false => {
                let html = page::failed::page(&self.reader(), status.as_u16(), error, hint);
                Reply::new(HTML, html, CachePolicy::No, Frame::Page)
            }
        };
        reply.status = *status;
        reply
    }

    /// Returns true if the client has no use for a page.
    fn is_of_a_program(&self) -> bool {
        let endings = [".json", ".csv", ".svg", ".js", ".css", "/oembed"];
        let mut pairs = self.query.split('&');
        let format = pairs.find_map(|pair| pair.strip_prefix("format="));
        endings.into_iter().any(|end| self.path.ends_with(end))
            || match format {
                None | Some("") => self.program,
                Some(format) => format != "html",
            }
    }

    /// Redirects to the chart of a community.
    pub fn community(&self, key: &str) -> Reply {
        match route::key(key) {
            Some(key) => {
                let reader = self.reader();
                Reply::redirect(self.places.address(&reader, &To::Community(&key)))
            }
            None => self.refuse(&nothing(self.path)),
        }
    }
}

impl Refusal {
    /// Returns the message for a client. The log gets the server's own errors.
    pub fn of(error: &Error) -> Self {
        let timely = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
        };
        let (status, hint) = match error {
            Error::Asked(_) => (StatusCode::BAD_REQUEST, "/about lists all parameters"),
            Error::Beyond(_) => (StatusCode::BAD_REQUEST, "/sql lists fast sums"),
            Error::Missing(_) => (StatusCode::NOT_FOUND, "/communities lists all communities"),
            Error::Busy(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "try again in a few seconds",
            ),
            Error::Unready(why) => {
                tracing::warn!(%why, "cannot parse the request");
                return Self {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    error: "cannot read the data at the moment".into(),
                    hint: "try again in a few seconds; see the server's log".into(),
                };
            }
            Error::Share(_) => {
                let hint = "try again when one of them is answered";
                (StatusCode::TOO_MANY_REQUESTS, hint)
            }
            Error::Store(inner) if timely(inner) => {
                let hint = "the request took too long: use a shorter time or larger steps";
                (StatusCode::SERVICE_UNAVAILABLE, hint)
            }
            other => {
                tracing::warn!(error = %other, "cannot create an answer");
                return Self {
                    status: StatusCode::INTERNAL_SERVER_ERROR,
                    error: "cannot create the answer".into(),
                    hint: "see the server's log".into(),
                };
            }
        };
        Self {
            status,
            error: error.to_string(),
            hint: hint.into(),
        }
    }

    /// Returns the message for a free query.
    pub fn of_query(error: &Error) -> Self {
        let refusal = Self::of(error);
        match error {
            Error::Asked(_) | Error::Missing(_) => Self {
                hint: "/sql lists the tables, and examples".into(),
                ..refusal
            },
            _ => refusal,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

pub(super) fn nothing(path: &str) -> Refusal {
    Refusal {
        status: StatusCode::NOT_FOUND,
        error: format!("there is nothing at {}", api::problem::clipped(path)),
        hint: "/about lists all addresses".into(),
    }
}

/// Returns the language that a browser prefers (RFC 9110 section 12.5.4).
pub(super) fn preferred(header: &str) -> Language {
    let mut best = (Language::English, 0.0);
    for (tag, weight) in weighed(header) {
        let primary = tag.split('-').next().map(str::to_ascii_lowercase);
        let language = match primary.as_deref() {
            Some("de") => Language::German,
            Some("en") => Language::English,
            _ => continue,
        };
        if weight > best.1 {
            best = (language, weight);
        }
    }
    best.0
}

/// Returns true if `Accept` weighs JSON above pages (RFC 9110 section 12.5.1).
pub(super) fn takes_json(header: &str) -> bool {
    let weight = |name: &str| {
        let all = weighed(header).filter(|(media, _)| media.eq_ignore_ascii_case(name));
        all.map(|(_, weight)| weight).fold(0.0, f32::max)
    };
    weight("application/json") > weight("text/html")
}

/// Returns the items of a header with their weights (RFC 9110 section 12.4.2).
fn weighed(header: &str) -> impl Iterator<Item = (&str, f32)> {
    header.split(',').take(20).map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let weight = weight.map_or(Some(1.0), |text| text.parse().ok());
        (name, weight.unwrap_or(0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_that_is_preferred() {
        for (header, language) in [
            ("", Language::English),
            ("de", Language::German),
            ("de-AT,de;q=0.9,en;q=0.8", Language::German),
            ("en-GB,de;q=0.9", Language::English),
            ("fr,de;q=0.5,en;q=0.4", Language::German),
            ("de;q=0", Language::English),
            ("de;q=x,*;;,", Language::English),
        ] {
            assert_eq!(preferred(header), language, "{header}");
        }
    }

    #[test]
    fn what_is_no_page() {
        for (header, json) in [
            ("", false),
            ("*/*", false),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                false,
            ),
            ("text/html, application/json", false),
            ("application/json", true),
            ("Application/JSON;charset=utf-8;q=0.9, */*;q=0.1", true),
            ("application/json;q=0.5, text/html;q=0.4", true),
            ("application/json;q=0", false),
        ] {
            assert_eq!(takes_json(header), json, "{header}");
        }
    }
}
