//! The HTTP surface of the daemon: what the command line, the web page and Prometheus all speak.
//!
//! HTTP/1.1 and JSON over a UNIX socket, so
//! `curl --unix-socket /run/weir/weir.sock http://weir/v1/status` works. The crate `web` has the
//! same over TCP, behind a log-in.
//!
//! What is asked and answered in it is in the crate `answers`.
//!
//! Whatever goes wrong is answered by a [`Problem`]. No `GET` changes anything. Which of these a
//! daemon has, and who may ask, is its table of [`Routes`].

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
pub use route::{Asked, Body, LONGEST_BODY, Later, Nothing, Route, Routes, Who};
pub use server::{Arrivals, Drain, Feed, Limits, Listener, feed, serve};
