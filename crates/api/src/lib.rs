//! The HTTP API of the daemon, used by the command line, the web page and Prometheus.
//!
//! HTTP/1.1 and JSON over a UNIX socket, so
//! `curl --unix-socket /run/weir/weir.sock http://weir/v1/status` works. The crate `web` serves the
//! API over TCP, behind a login.
//!
//! The crate `answers` has the types of requests and answers.
//!
//! The answer to any failure is a [`Problem`]. No `GET` changes anything. A daemon's table of
//! [`Routes`] lists its requests, and the access that each one needs.

pub mod client;
pub mod metrics;
pub mod path;
mod percent;
pub mod problem;
pub mod query;
pub mod route;
pub mod server;

pub use client::{Client, ClientError};
pub use hyper::{Method, Response};
pub use problem::{Problem, Refusal};
pub use query::{Query, with_query};
pub use route::{
    AccessLevel, ApiRequest, Body, EmptyBody, LONGEST_BODY, ResponseFuture, Route, Routes,
};
pub use server::{ConnectionSource, Limits, Listener, StreamReceiver, StreamSender, feed, serve};
