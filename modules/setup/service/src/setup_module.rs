//! Setup in the daemon: it passes requests of the page on to the process that may write the
//! configuration (`weir setup serve`).

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use api::{
    AccessLevel, ApiRequest, Body, EmptyBody, Method, Problem, ResponseFuture, Route, client,
};
use history_core::Calendar;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use net::clock::unix_seconds;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use setup_core::messages::SetupChange;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::config::Setup as Section;
use super::serve::{LONGEST, PENDING};
use runtime::Error;
use runtime::daemon::{
    ApiContext, Finding, Module, Privileges, Report, Router, Setup, Value as Named, Work,
};

/// Timeout of a change: services have to come up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of the longest answer.
const MOST: usize = 1024 * 1024;

/// Interval at which the setup process is asked for a change that waits to be confirmed.
const LOOKS: Duration = Duration::from_secs(2);

/// State of setup in the daemon.
struct Running {
    socket: PathBuf,
    /// The change that waits to be confirmed.
    pending: RefCell<Option<SetupChange>>,
    calendar: Calendar,
    /// Paths that the setup process trusts.
    sealed: Vec<PathBuf>,
}

/// Creates the module.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let section = setup.effective.of::<Section>();
    Ok(Rc::new(Running {
        socket: section.socket.to_path_buf(),
        pending: RefCell::default(),
        calendar: Calendar::new(history_core::zone::system().zone),
        sealed: [
            &section.root,
            &section.changes,
            &section.state,
            &section.reload,
        ]
        .map(|path| path.to_path_buf())
        .into(),
    }))
}

/// Any JSON object: the other process checks it.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
struct Anything(serde_json::Map<String, Value>);

impl Body for Anything {
    const EXPECTED: &'static str = "a JSON object";
}

impl Module for Running {
    fn privileges(&self) -> Privileges {
        Privileges {
            sealed: self.sealed.clone(),
            ..Privileges::default()
        }
    }

    fn work(self: Rc<Self>) -> Option<Work> {
        Some(Box::pin(async move {
            loop {
                tokio::time::sleep(LOOKS).await;
                let pending = match self.socket.exists() {
                    true => pending(&self.socket).await,
                    false => None,
                };
                *self.pending.borrow_mut() = pending;
            }
        }))
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        if self.socket.exists() {
            report.status.modules.push("setup".to_owned());
        }
        let Some(change) = &*self.pending.borrow() else {
            return;
        };
        let until = unix_seconds() + change.left.unwrap_or(0);
        let until = Named::Moment(
            until,
            self.calendar
                .offset_minutes(i64::try_from(until).unwrap_or_default()),
        );
        let waits = Finding::new("change-waits", "setup", "setup").of(&change.number.to_string());
        report.findings.push(
            waits
                .with("until", until)
                .with("what", Named::Text(change.why.clone())),
        );
    }

    fn routes(self: Rc<Self>, _: &Rc<dyn ApiContext>) -> Vec<Route> {
        let socket = &self.socket;
        vec![
            get(socket, "/v1/setup"),
            get(socket, "/v1/setup/join"),
            post(socket, "/v1/setup/read"),
            post(socket, "/v1/setup/plan"),
            post(socket, "/v1/setup/apply"),
            get(socket, "/v1/setup/detect"),
            post(socket, "/v1/setup/detect"),
            post(socket, "/v1/setup/confirm"),
            post(socket, "/v1/setup/revert"),
        ]
    }
}

/// Returns the change that waits to be confirmed; `None` if the other process does not answer.
async fn pending(socket: &Path) -> Option<SetupChange> {
    let asked = exchange(socket, Method::GET, PENDING, Bytes::new());
    let answer = timeout(PATIENCE, asked).await.ok()?.ok()?;
    serde_json::from_value(answer).ok()?
}

fn get(socket: &Path, path: &'static str) -> Route {
    let socket = socket.to_owned();
    Route::new_async(
        Method::GET,
        path,
        AccessLevel::User,
        move |_: ApiRequest<(), EmptyBody>| ask(socket.clone(), Method::GET, path, Bytes::new()),
    )
}

fn post(socket: &Path, path: &'static str) -> Route {
    let socket = socket.to_owned();
    let row = Route::new_async(
        Method::POST,
        path,
        AccessLevel::User,
        move |asked: ApiRequest<(), Anything>| {
            let body = serde_json::to_vec(&asked.body).unwrap_or_default();
            ask(socket.clone(), Method::POST, path, body.into())
        },
    );
    row.with_body(LONGEST)
}

/// Asks the other process.
fn ask(socket: PathBuf, method: Method, path: &'static str, body: Bytes) -> ResponseFuture<Value> {
    Box::pin(async move {
        let asked = exchange(&socket, method, path, body);
        match timeout(PATIENCE, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(Problem::new(
                504,
                "setup_silent",
                "the setup process takes too long",
                "try again in a moment: the list of changes shows whether it was made",
            )),
        }
    })
}

async fn exchange(
    socket: &Path,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Value, Problem> {
    let stream = UnixStream::connect(socket).await.map_err(|error| {
        Problem::new(
            503,
            "setup_not_running",
            format!("cannot connect to the setup process: {error}"),
            "start it on the router: `systemctl enable --now weir-setup`, or \
             `/etc/init.d/weir-setup start`",
        )
    })?;
    let broken = |error: String| {
        Problem::new(
            502,
            "setup_broken",
            format!("invalid answer from the setup process: {error}"),
            "restart the setup process; it must have the same version as the daemon",
        )
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Full::new(body))
        .map_err(|error| broken(error.to_string()))?;
    let answer = client::exchange(stream, request)
        .await
        .map_err(|error| broken(error.to_string()))?;
    let good = answer.status().is_success();
    let octets = Limited::new(answer.into_body(), MOST)
        .collect()
        .await
        .map_err(|error| broken(error.to_string()))?
        .to_bytes();
    if good {
        serde_json::from_slice(&octets).map_err(|error| broken(error.to_string()))
    } else {
        let problem: Result<Problem, _> = serde_json::from_slice(&octets);
        Err(problem.unwrap_or_else(|error| broken(error.to_string())))
    }
}
