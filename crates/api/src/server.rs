//! HTTP/1.1 server of the API over a UNIX socket, inside the daemon's single thread.

mod answer;
mod body;
mod crowd;
mod feed;
mod incoming;
mod progress;
mod seat;
mod serve;
mod socket;

pub use answer::{json, json_body, or_refuse, refuse, streamed};
pub use body::Answer;
pub use crowd::Peer;
pub use feed::{Drain, Feed, feed};
pub use incoming::read_body;
pub use progress::{Progress, Watched};
pub use serve::{Arrivals, Limits, serve};
pub use socket::{Listener, SocketError};
