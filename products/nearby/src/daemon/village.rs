//! TCP links of a village: calls the configured nodes, and accepts callers. [`crate::village`] has
//! the protocol; this module has the sockets.

mod link;
mod listen;
mod node_address;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

pub use link::LinkEvent;
use link::{Error, LinkContext, shake};
pub use node_address::NodeAddress;

use crate::bluetooth::ConnectionIds;
use crate::envelope::Key;
use crate::village::{Handshake, HandshakeResult, Secret, pause};

/// Timeout for the TCP connection to a node.
const CONNECTS: Duration = Duration::from_secs(10);
/// A link that was there for so long was of use: the next call need not wait.
const OF_USE: Duration = Duration::from_secs(10);
/// Interval of the check that a node is still linked.
const LOOK: Duration = Duration::from_secs(1);
/// Settings of a village.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Secret that all nodes share.
    pub secret: Secret,
    /// Addresses to listen on; empty: all addresses.
    pub listen: Vec<SocketAddr>,
    /// Nodes to call.
    pub nodes: Vec<NodeAddress>,
}

/// Starts listening and calling.
///
/// # Errors
/// A listener cannot be opened: the reason in a sentence.
pub fn begin(
    settings: &Settings,
    key: Arc<Key>,
    numbers: ConnectionIds,
    told: mpsc::Sender<LinkEvent>,
) -> Result<(), String> {
    let listeners = listen::bind(&settings.listen)?;
    let around = Arc::new(LinkContext::new(
        settings.secret.clone(),
        key,
        numbers,
        told,
    ));
    tokio::spawn(listen::listen(Arc::clone(&around), listeners));
    for name in &settings.nodes {
        tokio::spawn(keep(Arc::clone(&around), name.clone()));
    }
    Ok(())
}

/// Calls a node repeatedly, as long as no link with it exists.
async fn keep(around: Arc<LinkContext>, name: NodeAddress) {
    let (mut tries, mut known, mut said) = (0u32, None, String::new());
    loop {
        // The node may have called here, or have another name too.
        if known.is_some_and(|id| around.is_linked(id)) {
            (tries, said) = (0, String::new());
            sleep(LOOK).await;
            continue;
        }
        match call(&around, &name).await {
            Ok((socket, address, through)) => {
                known = Some(through.node.id());
                let begun = Instant::now();
                around.talk(socket, address, true, through).await;
                said.clear();
                if begun.elapsed() >= OF_USE {
                    tries = 0;
                }
            }
            Err(error) => {
                let error = error.to_string();
                match error == said {
                    true => debug!(node = %name, error, "no link"),
                    false => warn!(node = %name, error, "no link; retrying"),
                }
                said = error;
            }
        }
        let mut chance = [0];
        // Without a chance all wait alike.
        let _ = getrandom::fill(&mut chance);
        sleep(Duration::from_millis(pause(tries, chance[0]))).await;
        tries = tries.saturating_add(1);
    }
}

async fn call(
    around: &LinkContext,
    name: &NodeAddress,
) -> Result<(TcpStream, SocketAddr, HandshakeResult), Error> {
    let addresses = tokio::net::lookup_host((name.host.as_str(), name.port)).await;
    let mut last = Error::Nowhere;
    for address in addresses.map_err(Error::Name)?.take(8) {
        match timeout(CONNECTS, TcpStream::connect(address)).await {
            Ok(Ok(mut socket)) => {
                let (handshake, first) = Handshake::call(&around.secret, Arc::clone(&around.key))?;
                let through = shake(&mut socket, handshake, first).await?;
                return Ok((socket, address, through));
            }
            Ok(Err(error)) => last = Error::Connect(error),
            Err(_) => last = Error::Silent,
        }
    }
    Err(last)
}
