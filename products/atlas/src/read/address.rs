//! Files at addresses.

use std::cell::RefCell;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::archive::{self, Limits, Visit};
use super::file::whole_file;
use super::redirect;
use super::request::{AUTHORITIES, Pace, proper, told};
use crate::error::Error;

/// User agent of requests.
const AGENT: &str = concat!("weir-atlas/", env!("CARGO_PKG_VERSION"));
/// Largest answer of an address, in bytes.
const SENT: u64 = 4 << 30;
/// Largest file of certificates, in bytes.
const FILE: u64 = 8 << 20;

/// Returns true if a place is an address with a scheme.
pub fn is_address(place: &str) -> bool {
    place.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|octet| octet.is_ascii_alphanumeric())
    })
}

/// Visits the files at an address.
pub fn fetch(
    address: &str,
    limits: &Limits,
    pace: Pace,
    visit: &mut Visit,
) -> Result<ControlFlow<()>, Error> {
    let failed = |why: String| Error::Other(format!("{}: {why}", told(address)));
    let agent = agent(address, pace)?;
    let answer = redirect::ask(&agent, address, &[], pace).map_err(failed)?;
    if !answer.status().is_success() {
        return Err(failed(format!("it answers {}", answer.status())));
    }
    let mut file = ResponseBody::of(answer, pace, SENT);
    let way = archive::open(name_of(address), &mut file, limits, visit)?;
    match file.failed() {
        Some(why) => Err(failed(why)),
        None => Ok(way),
    }
}

/// Returns the client for an address and its redirects.
pub(crate) fn agent(address: &str, pace: Pace) -> Result<Agent, Error> {
    proper(address).map_err(|why| Error::Asked(format!("{}: {why}", told(address))))?;
    let mut tls = TlsConfig::builder();
    if let Some(authorities) = authorities()? {
        tls = tls.root_certs(authorities);
    }
    Ok(Agent::config_builder()
        .user_agent(AGENT)
        // The answer is unpacked here: ureq would wait for a slow sender of single bytes.
        .accept_encoding("gzip")
        .tls_config(tls.build())
        .timeout_connect(Some(pace.answer))
        .timeout_recv_response(Some(pace.answer))
        // The time before the answer counts, too.
        .timeout_per_read(Some(pace.silence()))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .build()
        .into())
}

/// Returns the authorities that the environment names; `None`: the built-in ones.
fn authorities() -> Result<Option<RootCerts>, Error> {
    let Some(path) = std::env::var_os(AUTHORITIES).filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let name = path.to_string_lossy();
    let wrong = |why: String| Error::Asked(format!("{AUTHORITIES}, {name}: {why}"));
    let pem = whole_file(path.as_ref(), FILE);
    let pem = pem.map_err(|error| Error::Asked(format!("{AUTHORITIES}: {error}")))?;
    let mut found: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(one) = item.map_err(|error| wrong(error.to_string()))? {
            found.push(one);
        }
    }
    match found.is_empty() {
        true => Err(wrong(
            "it contains no -----BEGIN CERTIFICATE-----".to_owned(),
        )),
        false => Ok(Some(found.into())),
    }
}

/// Returns the last part of an address's path, as a name of a file.
pub(crate) fn name_of(address: &str) -> &str {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((_, name)) => name,
        None => "index",
    }
}

/// Body of an answer, as a stream.
pub(crate) struct ResponseBody {
    inner: Box<dyn Read>,
    failed: Rc<RefCell<Option<String>>>,
}

impl ResponseBody {
    /// Returns the body, which fails beyond `most` bytes.
    pub(crate) fn of(answer: Response<Body>, pace: Pace, most: u64) -> Self {
        let packed = answer.headers().get(header::CONTENT_ENCODING);
        let packed = packed.is_some_and(|how| how.as_bytes().eq_ignore_ascii_case(b"gzip"));
        let failed = Rc::default();
        let steady = Steady {
            // A further byte distinguishes a truncated body from a complete one.
            inner: answer
                .into_body()
                .into_reader()
                .take(most.saturating_add(1)),
            pace,
            most,
            all: 0,
            waited: Duration::ZERO,
            came: 0,
            failed: Rc::clone(&failed),
        };
        let inner: Box<dyn Read> = match packed {
            true => Box::new(MultiGzDecoder::new(steady)),
            false => Box::new(steady),
        };
        Self { inner, failed }
    }

    /// Returns the reason of a truncated body.
    pub(crate) fn failed(&self) -> Option<String> {
        self.failed.borrow_mut().take()
    }
}

impl Read for ResponseBody {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.inner.read(into)
    }
}

/// Reader that fails on a slow sender. Only time spent waiting counts.
struct Steady<R> {
    inner: R,
    pace: Pace,
    most: u64,
    all: u64,
    waited: Duration,
    came: u64,
    failed: Rc<RefCell<Option<String>>>,
}

impl<R: Read> Steady<R> {
    fn fail(&self, why: String) -> io::Error {
        *self.failed.borrow_mut() = Some(why.clone());
        io::Error::other(why)
    }
}

impl<R: Read> Read for Steady<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let begin = Instant::now();
        let read = self.inner.read(into);
        self.waited += begin.elapsed();
        let read = read.map_err(|error| self.fail(self.pace.broken(&error)))?;
        self.came += read as u64;
        self.all += read as u64;
        if self.all > self.most {
            return Err(self.fail(format!("it sends more than {} MiB", self.most >> 20)));
        }
        if read > 0 && self.waited >= self.pace.window {
            if self.came < self.pace.least {
                let (came, seconds) = (self.came, self.waited.as_secs_f64());
                let what = format!("it is too slow: {came} octets in {seconds:.0} s");
                return Err(self.fail(format!("{what}; try again later")));
            }
            (self.waited, self.came) = (Duration::ZERO, 0);
        }
        Ok(read)
    }
}
