//! What the daemon provides: answers to the API's calls, and figures.

use std::pin::Pin;
use std::rc::Rc;

use api::server::{Answer, answer, nothing_in, refuse};
use api::{Call, Problem, Provider};
use hyper::Response;

/// An answer, which may come from another thread.
pub type Answering = Pin<Box<dyn Future<Output = Response<Answer>>>>;

/// What is behind the door. Methods return at once.
pub trait Handler {
    /// Answers what a client with a session asks: `path` is as on the UNIX socket (`/v1/…`), `query` without the question mark. No
    /// `GET` may change anything.
    fn answer(&self, method: &str, path: &str, query: Option<&str>, body: &[u8]) -> Answering;

    /// Figures for Prometheus, with their media type; `None` where there are none.
    fn metrics(&self) -> Option<(&'static str, String)> {
        None
    }
}

/// Writes figures: media type and text.
pub type Figures = Box<dyn Fn() -> (&'static str, String)>;

/// The daemon's API, as the UNIX socket has it. Captures are the socket's alone: a browser has no use for them, and they hold packets.
pub struct Api {
    provider: Rc<dyn Provider>,
    figures: Option<Figures>,
}

impl Api {
    /// Answers from this provider.
    pub fn new(provider: Rc<dyn Provider>) -> Self {
        Self {
            provider,
            figures: None,
        }
    }

    /// And gives these figures.
    pub fn with_metrics(self, figures: Figures) -> Self {
        Self {
            figures: Some(figures),
            ..self
        }
    }
}

impl Handler for Api {
    fn answer(&self, method: &str, path: &str, query: Option<&str>, body: &[u8]) -> Answering {
        let now = |response| -> Answering { Box::pin(std::future::ready(response)) };
        let call = match Call::parse(method, path, query) {
            Ok(call) => call,
            Err(problem) => return now(refuse(&problem, Call::method_of(path))),
        };
        if matches!(call, Call::Capture(_) | Call::StopCapture) {
            let problem = Problem::new(
                403,
                "not_here",
                "captures are not made through the web page",
                "use `weir capture` on the router",
            );
            return now(refuse(&problem, None));
        }
        match nothing_in(body) {
            Ok(()) => Box::pin(answer(call, Rc::clone(&self.provider))),
            Err(problem) => now(refuse(&problem, None)),
        }
    }

    fn metrics(&self) -> Option<(&'static str, String)> {
        self.figures.as_ref().map(|figures| figures())
    }
}
