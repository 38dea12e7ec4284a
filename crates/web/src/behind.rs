//! What is behind the door: the daemon's API, and figures.

use api::server::{Answer, or_refuse, refuse};
use api::{Routes, Who};
use hyper::Response;

/// Writes figures: media type and text.
pub type Figures = Box<dyn Fn() -> (&'static str, String)>;

/// The daemon's API, as the UNIX socket has it, for those who may have it here: what is root's is
/// the socket's alone.
#[derive(Default)]
pub struct Behind {
    routes: Routes,
    figures: Option<Figures>,
}

impl Behind {
    /// Answers by these rows.
    pub fn new(routes: Routes) -> Self {
        Self {
            routes,
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

    /// Answers what somebody asks: `path` is as on the UNIX socket (`/v1/…`), `query` without the
    /// question mark.
    pub(crate) async fn answer(
        &self,
        who: Who,
        [method, path]: [&str; 2],
        query: &str,
        body: &[u8],
    ) -> Response<Answer> {
        match self.routes.find(method, path, who) {
            Ok(found) => or_refuse(found.answer(query, body).await),
            Err(refusal) => refuse(&refusal),
        }
    }

    /// Figures for Prometheus, with their media type; `None` where there are none.
    pub(crate) fn metrics(&self) -> Option<(&'static str, String)> {
        self.figures.as_ref().map(|figures| figures())
    }
}
