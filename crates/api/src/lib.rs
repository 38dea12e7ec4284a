//! The HTTP surface of the daemon and its types: what the command line, the web page and Prometheus
//! all speak.
//!
//! HTTP/1.1 and JSON over a UNIX socket, so
//! `curl --unix-socket /run/weir/weir.sock http://weir/v1/status` works. The crate `web` has the
//! same over TCP, behind a log-in.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/status` | [`Status`] |
//! | `GET /v1/flows?…` | [`FlowList`], filtered by [`FlowFilter`] |
//! | `GET /v1/hops` | `[`[`Hop`]`]` |
//! | `GET /v1/ports` | `[`[`Port`]`]` |
//! | `GET /v1/drops` | [`Drops`] |
//! | `GET /v1/devices` | [`Devices`]: who uses the network |
//! | `GET /v1/talks?…` | [`Talks`]: conversations, of a [`TalksQuery`] |
//! | `GET /v1/history?…` | [`History`] of a [`HistoryQuery`] |
//! | `GET /v1/paths` | [`Paths`]: uplinks that are used as one |
//! | `GET /v1/probes` | [`Probes`]: what is recorded of the network stack |
//! | `GET /v1/explain?flow=…` | [`Explanation`] of a [`FlowQuery`] |
//! | `GET /v1/config` | [`Config`] |
//! | `POST /v1/reload` | [`Reloaded`] |
//! | `POST /v1/capture?…` | pcapng, for as long as a [`CaptureQuery`] says, and a [`CaptureSummary`] as a trailer |
//! | `POST /v1/capture/stop` | [`CaptureSummary`] of the capture that runs, which ends |
//!
//! Whatever goes wrong is answered by a [`Problem`]. No `GET` changes anything. Which of these a
//! daemon has, and who may ask, is its table of [`Routes`].

pub mod capture;
pub mod client;
pub mod expression;
pub mod filter;
pub mod metrics;
pub mod monitor;
mod number;
mod openmetrics;
pub mod path;
mod percent;
pub mod problem;
pub mod query;
pub mod route;
pub mod server;
pub mod types;

pub use capture::{CaptureQuery, CaptureSide, CaptureSummary};
pub use client::{Client, ClientError};
pub use expression::{ExpressionError, FlowQuery};
pub use filter::{FlowFilter, Prefix, Selection, Sort};
pub use hyper::Method;
pub use monitor::{HistoryBy, HistoryQuery, HistoryUnit, TalkSort, TalksQuery};
pub use problem::Problem;
pub use query::{Query, with_query};
pub use route::{Asked, Body, Later, Nothing, Refusal, Route, Routes, Who};
pub use server::{Arrivals, Drain, Feed, Limits, Listener, feed, serve};
pub use types::*;
