//! Redirects of answers. ureq's own redirects are off: ureq would go from https to http, and takes
//! `file:///…` for a path of the same server.

use std::time::Instant;

use ureq::http::{HeaderName, Response, StatusCode, header};
use ureq::{Agent, Body};

use super::request::{Pace, plain, proper, told};

/// Largest number of redirects.
const MOST: usize = 5;

/// Requests an address, and follows its redirects.
pub(super) fn ask(
    agent: &Agent,
    address: &str,
    headers: &[(HeaderName, &str)],
    pace: Pace,
) -> Result<Response<Body>, String> {
    let begin = Instant::now();
    let mut at = proper(address)?;
    for sent in 0..=MOST {
        let mut question = agent.get(&at);
        for (name, value) in headers {
            question = question.header(name, *value);
        }
        let rest = pace.whole.saturating_sub(begin.elapsed());
        let question = question.config().timeout_global(Some(rest)).build();
        let answer = question.call().map_err(|error| match sent {
            0 => plain(&error),
            _ => format!("it redirects to {}: {}", told(&at), plain(&error)),
        })?;
        let status = answer.status();
        match status {
            StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT => {}
            StatusCode::PARTIAL_CONTENT => {
                return Err(format!(
                    "it answers {status}: a part of the file, which was not requested"
                ));
            }
            _ => return Ok(answer),
        }
        let to = answer.headers().get(header::LOCATION);
        let to = to.and_then(|to| to.to_str().ok());
        let to = to.ok_or_else(|| format!("it answers {status}, without a target"))?;
        at = next(&at, to)?;
    }
    Err(format!("it redirects more than {MOST} times"))
}

/// Returns the target of `location` from an address, or the reason to refuse it.
fn next(from: &str, location: &str) -> Result<String, String> {
    let location = location.split('#').next().unwrap_or_default();
    let (scheme, rest) = from.split_once("://").unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let to = if has_scheme(location) {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{host}{location}")
    } else if location.starts_with('?') || location.is_empty() {
        format!("{scheme}://{host}{path}{location}")
    } else {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{host}{}", without_dots(folder, location))
    };
    let refused = |why: &str| format!("{} redirects to {}: {why}", told(from), told(&to));
    let to = proper(&to).map_err(|why| refused(&why))?;
    match scheme == "https" && to.starts_with("http://") {
        true => Err(refused("redirects from https to http are not allowed")),
        false => Ok(to),
    }
}

/// Returns true if the text begins with a scheme, such as `file:///…`.
fn has_scheme(location: &str) -> bool {
    let scheme = location.split(['/', '?', ':']).next().unwrap_or_default();
    let letters = |octet: u8| octet.is_ascii_alphanumeric() || b"+-.".contains(&octet);
    location[scheme.len()..].starts_with(':')
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(letters)
}

/// Joins a path with a folder, without `.` and `..`.
fn without_dots(folder: &str, path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut parts: Vec<&str> = folder.split('/').skip(1).collect();
    let mut last = "";
    for part in path.split('/') {
        last = part;
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if matches!(last, "." | "..") {
        parts.push("");
    }
    format!("/{}{query}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to() {
        let from = "https://a.example:8443/b/c.json?x=1";
        for (location, to) in [
            ("https://d.example/e", "https://d.example/e"),
            ("HTTPS://d.example/e", "https://d.example/e"),
            ("//d.example/e#f", "https://d.example/e"),
            ("/e?f", "https://a.example:8443/e?f"),
            ("e", "https://a.example:8443/b/e"),
            ("e/../f?g=..", "https://a.example:8443/b/f?g=.."),
            ("../../../e", "https://a.example:8443/e"),
            ("./", "https://a.example:8443/b/"),
            ("..", "https://a.example:8443/"),
            ("?y", "https://a.example:8443/b/c.json?y"),
            ("", "https://a.example:8443/b/c.json"),
            ("#x", "https://a.example:8443/b/c.json"),
            ("d/..", "https://a.example:8443/b/"),
            // No schemes: these begin with a letter, and have no `_`.
            ("1:e", "https://a.example:8443/b/1:e"),
            ("a_b:e", "https://a.example:8443/b/a_b:e"),
            ("e:f/", "e:f/"),
            ("a/e:f", "https://a.example:8443/b/a/e:f"),
            ("http://d.example/e", "http"),
        ] {
            match next(from, location) {
                Ok(found) => assert_eq!(found, to, "{location}"),
                Err(why) => assert!(why.contains(to), "{location}: {why}"),
            }
        }
        assert_eq!(
            next("https://a.example", "e").as_deref(),
            Ok("https://a.example/e")
        );
        assert_eq!(
            next("http://a.example/", "http://b.example/").as_deref(),
            Ok("http://b.example/")
        );
    }

    #[test]
    fn where_nobody_goes() {
        for (from, location, why) in [
            (
                "https://a.example/b?secret",
                "http://127.0.0.1/c?d",
                "https://a.example/b redirects to http://127.0.0.1/c: redirects from https to http",
            ),
            (
                "http://a.example/b",
                "file:///etc/passwd",
                "http://a.example/b redirects to file:///etc/passwd: not a web address",
            ),
            (
                "http://a.example/b",
                "FILE:/etc/passwd",
                "not a web address",
            ),
            (
                "http://a.example/b",
                "http://c.example:99999/",
                "port 99999",
            ),
        ] {
            let told = next(from, location).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }
}
