//! Captures of forwarded packets as pcapng, which Wireshark and tcpdump read.

mod blocks;
mod bucket;
mod command;
mod pcapng;
mod session;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use answers::CaptureQuery;
use answers::capture::SUMMARY_TRAILER;
use api::server::stream_response;
use api::{AccessLevel, ApiRequest, Method, Problem, Route};

use runtime::Error;
use runtime::daemon::{ApiContext, Module, Router, Setup, Work};
use runtime::registry::{Command, Group, ModuleEntry};
use session::CaptureSession;

/// Entry of the module.
pub const ENTRY: ModuleEntry = ModuleEntry {
    commands: || vec![Command::printing(Group::Diagnose, "capture", command::run)],
    begin: Some(begin),
    ..ModuleEntry::named("capture")
};

/// At most one capture at a time, which bounds the load of a router.
#[derive(Default)]
pub struct Captures(RefCell<Option<CaptureSession>>);

/// Creates the module.
///
/// # Errors
/// None.
pub fn begin(_: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    Ok(Rc::new(Captures::default()))
}

impl Captures {
    /// Begins a capture; returns the stream for the client. The capture ends when the
    /// [`api::StreamReceiver`] is dropped.
    fn open(
        &self,
        router: &mut Router,
        asked: &CaptureQuery,
    ) -> Result<api::StreamReceiver, Problem> {
        // The client of the last capture may have disconnected a moment ago.
        self.poll(Instant::now(), router);
        let mut slot = self.0.borrow_mut();
        if slot.is_some() {
            let detail = "another capture is running, and weir supports one at a time";
            let hint = "wait for its end, or end it with `curl -X POST --unix-socket SOCKET \
                http://weir/v1/capture/stop`";
            return Err(Problem::new(409, "capture_runs", detail, hint));
        }
        let (running, drain) = CaptureSession::start(router, asked)?;
        *slot = Some(running);
        Ok(drain)
    }

    /// Ends the running capture: its client still receives the packets captured before.
    fn end(&self, router: &mut Router) -> Result<answers::CaptureSummary, Problem> {
        let running = self.0.borrow_mut().take();
        let none = || {
            let hint = "nothing to do; `weir capture` starts one";
            Problem::new(409, "no_capture", "no capture is running", hint)
        };
        Ok(running.ok_or_else(none)?.finish(router))
    }
}

impl Module for Captures {
    /// Returns the routes. Only root may see packets. A capture lasts as long as its client reads.
    fn routes(self: Rc<Self>, face: &Rc<dyn ApiContext>) -> Vec<Route> {
        let (begun, ended) = (Rc::clone(&self), self);
        let (begin_at, end_at) = (Rc::clone(face), Rc::clone(face));
        let begin = move |asked: ApiRequest<CaptureQuery>| {
            let drain = begun.open(&mut begin_at.router(), &asked.query)?;
            let media = "application/x-pcapng";
            Ok(stream_response(media, drain, SUMMARY_TRAILER))
        };
        let end = move |_: ApiRequest| ended.end(&mut end_at.router());
        vec![
            Route::raw(Method::POST, "/v1/capture", AccessLevel::Root, begin),
            Route::new(Method::POST, "/v1/capture/stop", AccessLevel::Root, end),
        ]
    }

    fn poll_at(&self) -> Option<Instant> {
        let running = self.0.borrow();
        running.as_ref().map(CaptureSession::turn_at)
    }

    /// Takes new packets, and ends a capture that is over.
    fn poll(&self, _: Instant, router: &mut Router) {
        let mut slot = self.0.borrow_mut();
        let Some(running) = slot.as_mut() else { return };
        if running.poll(router)
            && let Some(running) = slot.take()
        {
            running.finish(router);
        }
    }

    fn stop(&self, router: &mut Router) -> Option<Work> {
        if let Some(running) = self.0.borrow_mut().take() {
            running.finish(router);
        }
        None
    }
}
