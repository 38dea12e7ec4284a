//! Links of a village, from the handshake to their end.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::{debug, warn};

use crate::Id;
use crate::bluetooth::ConnectionIds;
use crate::envelope::Key;
use crate::village::{
    Handshake, HandshakeError, HandshakeResult, PATIENCE, RECORD, Secret, Session,
};

/// Timeout for a write to a node.
const TAKES: Duration = Duration::from_secs(30);
/// Capacity of a link's queue of records.
const AHEAD: usize = 2;
/// Interval of warnings about one source with another secret.
const TELLS: Duration = Duration::from_secs(600);
/// Largest number of sources remembered.
const SOURCES: usize = 64;

/// Event of a link.
pub enum LinkEvent {
    /// A link opened.
    Reached(NewLink),
    /// A record arrived by a link.
    Heard(u32, Vec<u8>),
    /// A record was written to it.
    Written(u32),
    /// A link closed.
    Closed(u32),
}

/// A link that was made.
pub struct NewLink {
    pub link: u32,
    pub address: SocketAddr,
    pub caller: bool,
    pub id: Id,
    /// Queue of records to write; dropping the sender ends the link.
    pub writer: mpsc::Sender<Vec<u8>>,
}

/// Reason of a failed link.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot resolve its name: {0}")]
    Name(std::io::Error),
    #[error("no address")]
    Nowhere,
    #[error("cannot reach it: {0}")]
    Connect(std::io::Error),
    #[error("no answer")]
    Silent,
    #[error(
        "connection closed without an answer: it has another secret or version, or is not a \
            weir-nearby"
    )]
    Refuses,
    #[error("the connection broke: {0}")]
    Broke(std::io::Error),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
}

/// State that all tasks share.
pub struct LinkContext {
    pub secret: Secret,
    pub key: Arc<Key>,
    pub numbers: ConnectionIds,
    told: mpsc::Sender<LinkEvent>,
    /// Linked nodes, and the number of links of each.
    linked: Mutex<BTreeMap<Id, u32>>,
    /// Sources with another secret, and the time of the last warning.
    strangers: Mutex<BTreeMap<IpAddr, Instant>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LinkContext {
    /// Creates the context without a link.
    pub fn new(
        secret: Secret,
        key: Arc<Key>,
        numbers: ConnectionIds,
        told: mpsc::Sender<LinkEvent>,
    ) -> Self {
        Self {
            secret,
            key,
            numbers,
            told,
            linked: Mutex::default(),
            strangers: Mutex::default(),
        }
    }

    pub fn is_linked(&self, id: Id) -> bool {
        locked(&self.linked).contains_key(&id)
    }

    fn unlinked(&self, id: Id) {
        let mut linked = locked(&self.linked);
        if let Some(count) = linked.get_mut(&id) {
            *count -= 1;
        }
        linked.retain(|_, count| *count > 0);
    }

    /// Reports a caller from outside this village, at most once per interval, because any host can
    /// call repeatedly.
    pub fn stranger(&self, address: SocketAddr, error: &HandshakeError) {
        let mut strangers = locked(&self.strangers);
        strangers.retain(|_, since| since.elapsed() < TELLS);
        let source = address.ip();
        if strangers.len() < SOURCES && strangers.insert(source, Instant::now()).is_none() {
            warn!(%address, %error, "caller not admitted to the village");
        } else {
            debug!(%address, %error, "caller not admitted to the village");
        }
    }

    /// Runs a link, until it ends.
    pub async fn talk(
        &self,
        socket: TcpStream,
        address: SocketAddr,
        caller: bool,
        through: HandshakeResult,
    ) {
        let link = self.numbers.next();
        let id = through.node.id();
        let (writer, frames) = mpsc::channel(AHEAD);
        *locked(&self.linked).entry(id).or_default() += 1;
        let reached = NewLink {
            link,
            address,
            caller,
            id,
            writer,
        };
        // A closed receiver means that the program is ending.
        let _ = self.told.send(LinkEvent::Reached(reached)).await;
        for record in through.records {
            let _ = self.told.send(LinkEvent::Heard(link, record)).await;
        }
        let why = self.carry(link, socket, through.session, frames).await;
        debug!(%id, %address, why, "a link ended");
        self.unlinked(id);
        let _ = self.told.send(LinkEvent::Closed(link)).await;
    }

    async fn carry(
        &self,
        link: u32,
        socket: TcpStream,
        session: Session,
        mut frames: mpsc::Receiver<Vec<u8>>,
    ) -> String {
        let Session {
            mut sealer,
            mut opener,
        } = session;
        let (mut reader, mut writer) = socket.into_split();
        let reads = async {
            let mut buffer = vec![0; RECORD];
            loop {
                let count = match reader.read(&mut buffer).await {
                    Ok(0) => return "closed by the other side".to_owned(),
                    Ok(count) => count,
                    Err(error) => return error.to_string(),
                };
                match opener.heard(&buffer[..count]) {
                    Ok(records) => {
                        for record in records {
                            let _ = self.told.send(LinkEvent::Heard(link, record)).await;
                        }
                    }
                    Err(error) => return error.to_string(),
                }
            }
        };
        let writes = async {
            while let Some(frame) = frames.recv().await {
                let sealed = match sealer.seal(&frame) {
                    Ok(sealed) => sealed,
                    Err(error) => return error.to_string(),
                };
                match timeout(TAKES, writer.write_all(&sealed)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return error.to_string(),
                    Err(_) => return "the other side reads nothing".to_owned(),
                }
                let _ = self.told.send(LinkEvent::Written(link)).await;
            }
            "ended by this side".to_owned()
        };
        tokio::select! {
            why = reads => why,
            why = writes => why,
        }
    }
}

/// Runs a handshake of either side, with a time limit.
pub async fn shake(
    socket: &mut TcpStream,
    mut handshake: Handshake,
    first: Vec<u8>,
) -> Result<HandshakeResult, Error> {
    // Records are small and wait for an answer each: send them without delay.
    socket.set_nodelay(true).map_err(Error::Broke)?;
    let shakes = async {
        socket.write_all(&first).await.map_err(Error::Broke)?;
        let mut buffer = [0; 256];
        loop {
            let hangs_up = |error: Option<std::io::Error>| match (handshake.is_known(), error) {
                (false, _) => Error::Refuses,
                (true, Some(error)) => Error::Broke(error),
                (true, None) => Error::Broke(std::io::ErrorKind::UnexpectedEof.into()),
            };
            let count = match socket.read(&mut buffer).await {
                Ok(0) => return Err(hangs_up(None)),
                Ok(count) => count,
                Err(error) => return Err(hangs_up(Some(error))),
            };
            let mut out = Vec::new();
            let heard = handshake.heard(&buffer[..count], &mut out)?;
            socket.write_all(&out).await.map_err(Error::Broke)?;
            if let Some(through) = heard {
                return Ok(through);
            }
        }
    };
    let done = timeout(Duration::from_millis(PATIENCE), shakes).await;
    done.unwrap_or(Err(Error::Silent))
}
