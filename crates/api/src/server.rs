//! HTTP/1.1 server of the API over a UNIX socket, inside the daemon's single thread.

mod body;
mod connection_pool;
mod connection_table;
mod progress;
mod request_body;
mod response;
mod serve;
mod socket;
mod stream;

pub use body::ResponseBody;
pub use connection_table::Peer;
pub use progress::{Progress, ProgressStream};
pub use request_body::read_body;
pub use response::{into_response, json, json_body, problem_response, stream_response};
pub use serve::{ConnectionSource, Limits, serve};
pub use socket::{Listener, SocketError};
pub use stream::{StreamReceiver, StreamSender, feed};
