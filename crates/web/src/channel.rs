//! Channel between the daemon and a network-facing server, which is a process of its own: one pair
//! of sockets. The daemon passes the listening sockets; the server passes one end of a new pair for
//! each request ([`api`]), and answers liveness probes. The sockets have no name, so that no other
//! process can connect.

use std::cell::Cell;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::time::Duration;

use api::server::Peer;
use api::{AccessLevel, ConnectionSource};
use hyper::HeaderMap;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Bytes of the longest message: the settings, which name hosts.
const LONGEST: usize = 64 * 1024;

/// Liveness probe, and its answer.
const THERE: &[u8] = b"t";

/// Returns both ends: the daemon's, and the server's.
pub fn pair() -> io::Result<(DaemonEnd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok((DaemonEnd(ours), theirs))
}

/// The daemon's end, before the first message.
#[derive(Debug)]
pub struct DaemonEnd(OwnedFd);

impl DaemonEnd {
    /// Sends the settings and the listening sockets: the other end shares the sockets from now on.
    pub fn send_opening(
        &self,
        what: &impl Serialize,
        sockets: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let opening = Opening {
            what,
            sockets: sockets.len(),
        };
        let text = serde_json::to_vec(&opening)?;
        send(self.0.as_fd(), &text, None)?;
        for socket in sockets {
            send(self.0.as_fd(), b"l", Some(*socket))?;
        }
        Ok(())
    }

    /// Returns the later requests of the other end; `who` determines a request's access level from
    /// its headers. Must be called inside a tokio runtime.
    pub fn into_requests(
        self,
        who: impl Fn(&HeaderMap) -> AccessLevel + 'static,
    ) -> io::Result<ServerRequests> {
        Ok(ServerRequests {
            control: readable(self.0)?,
            heard: Cell::new(true),
            access_level: Box::new(who),
        })
    }
}

/// The first message.
#[derive(Serialize, Deserialize)]
struct Opening<T> {
    what: T,
    /// Number of sockets that follow, one in each message.
    sockets: usize,
}

/// Requests of a server.
pub struct ServerRequests {
    control: UnixStream,
    /// True if the server has answered since the last probe.
    heard: Cell<bool>,
    access_level: Box<dyn Fn(&HeaderMap) -> AccessLevel>,
}

impl ServerRequests {
    /// Returns when the other end misses two probes in a row, a pause apart. A single miss may be
    /// due to this process's own sleep. Requires a concurrent [`ConnectionSource::accept`].
    pub async fn silence(&self, pause: Duration) {
        let mut unheard = 0;
        while unheard < 2 {
            self.heard.set(false);
            // The buffer is full if the server has not read the last probe.
            let _ = send(self.control.as_fd(), THERE, None);
            tokio::time::sleep(pause).await;
            unheard = match self.heard.get() {
                true => 0,
                false => unheard + 1,
            };
        }
    }
}

impl ConnectionSource for ServerRequests {
    async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let received = received(&self.control).await?;
            self.heard.set(true);
            match received {
                Received::Word => {}
                Received::Socket(socket) => {
                    let stream = StdStream::from(socket);
                    stream.set_nonblocking(true)?;
                    // Anything but a socket is dropped; the next request is unaffected.
                    if let Ok(stream) = UnixStream::from_std(stream) {
                        return Ok(stream);
                    }
                }
                // The process that started the server notices its end.
                Received::End => std::future::pending().await,
            }
        }
    }

    fn peer(&self, _: &UnixStream) -> Peer {
        Peer::Process(0)
    }

    fn access_level(&self, headers: &HeaderMap) -> AccessLevel {
        (self.access_level)(headers)
    }
}

/// The server's end.
pub struct ServerEnd {
    control: UnixStream,
}

impl ServerEnd {
    /// Waits for the daemon's first message. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The other end does not belong to the daemon.
    pub fn accept_opening<T: DeserializeOwned>(
        control: OwnedFd,
    ) -> io::Result<(Self, T, Vec<OwnedFd>)> {
        let mut text = vec![0; LONGEST];
        let (length, _) = receive(control.as_fd(), &mut text, RecvFlags::empty())?;
        let opening: Opening<T> = serde_json::from_slice(&text[..length])?;
        let mut sockets = Vec::new();
        for _ in 0..opening.sockets {
            let (_, socket) = receive(control.as_fd(), &mut [0], RecvFlags::empty())?;
            sockets.push(socket.ok_or(io::ErrorKind::UnexpectedEof)?);
        }
        let control = readable(control)?;
        Ok((Self { control }, opening.what, sockets))
    }

    /// Returns a connection to the daemon.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let (mine, other) = StdStream::pair()?;
        mine.set_nonblocking(true)?;
        send(self.control.as_fd(), b"q", Some(other.as_fd()))?;
        UnixStream::from_std(mine)
    }

    /// Answers probes, and returns when the daemon is gone. A server that cannot open a descriptor
    /// serves nothing, and does not answer: the daemon then starts another server.
    pub async fn closed(&self) {
        while let Ok(Received::Word | Received::Socket(_)) = received(&self.control).await {
            if StdStream::pair().is_ok() {
                // If the buffer is full, the daemon has enough to read.
                let _ = send(self.control.as_fd(), THERE, None);
            }
        }
    }
}

/// Makes the end pollable. Its type is a stream's, though the socket keeps messages apart.
fn readable(control: OwnedFd) -> io::Result<UnixStream> {
    let control = StdStream::from(control);
    control.set_nonblocking(true)?;
    UnixStream::from_std(control)
}

/// A received message.
enum Received {
    /// A descriptor.
    Socket(OwnedFd),
    /// A message without a descriptor.
    Word,
    /// The other end is gone.
    End,
}

async fn received(control: &UnixStream) -> io::Result<Received> {
    let take = || receive(control.as_fd(), &mut [0], RecvFlags::DONTWAIT);
    Ok(match control.async_io(Interest::READABLE, take).await? {
        (_, Some(socket)) => Received::Socket(socket),
        (0, None) => Received::End,
        (_, None) => Received::Word,
    })
}

fn send(control: BorrowedFd<'_>, octets: &[u8], passed: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    let passed = passed.as_slice();
    if !passed.is_empty() {
        extra.push(SendAncillaryMessage::ScmRights(passed));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(control, &[IoSlice::new(octets)], &mut extra, flags)?;
    Ok(())
}

/// Returns the bytes of a message, 0 at the end, and its descriptor. The kernel closes further
/// descriptors.
fn receive(
    control: BorrowedFd<'_>,
    octets: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let got = recvmsg(control, &mut [IoSliceMut::new(octets)], &mut extra, flags)?;
    let socket = extra.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    Ok((got.bytes, socket))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::rc::Rc;
    use std::time::Duration;

    use super::*;
    use crate::{FrontendSettings, Listeners, Settings};

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
    }

    fn listeners(count: usize) -> Listeners {
        let bound = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("bound"));
        Listeners::from_sockets(bound.collect())
    }

    #[test]
    fn what_to_serve_and_where_arrives() {
        let (ours, theirs) = pair().expect("a pair");
        let front = FrontendSettings {
            hosts: (0..1000).map(|n| format!("router{n}.example")).collect(),
            ..Settings::default().frontend()
        };
        let bound = listeners(40);
        ours.send_opening(&front, &bound.descriptors())
            .expect("said");
        runtime().block_on(async {
            let (_, heard, found) =
                ServerEnd::accept_opening::<FrontendSettings>(theirs).expect("heard");
            let found = Listeners::from_sockets(found);
            assert_eq!(heard.hosts, front.hosts);
            assert_eq!(found.addresses(), bound.addresses());
        });
    }

    #[test]
    fn each_question_has_a_connection_and_the_end_is_seen() {
        let (ours, theirs) = pair().expect("a pair");
        let front = Settings::default().frontend();
        ours.send_opening(&front, &[]).expect("said");
        runtime().block_on(async {
            let questions = ours
                .into_requests(|_| AccessLevel::Guest)
                .expect("a socket");
            let (theirs, ..) =
                ServerEnd::accept_opening::<FrontendSettings>(theirs).expect("heard");
            for _ in 0..3 {
                let mine = theirs.connect().expect("a connection");
                let other = questions.accept().await.expect("the other end");
                drop(mine);
                other.readable().await.expect("closed");
                assert_eq!(other.try_read(&mut [0]).expect("closed"), 0);
            }
            drop(questions);
            theirs.closed().await;
            assert!(theirs.connect().is_err(), "nobody is there");
        });
    }

    #[test]
    fn who_hangs_is_noticed() {
        const PAUSE: Duration = Duration::from_millis(100);
        let (ours, theirs) = pair().expect("a pair");
        ours.send_opening(&Settings::default().frontend(), &[])
            .expect("said");
        runtime().block_on(async {
            let questions = ours
                .into_requests(|_| AccessLevel::Guest)
                .expect("a socket");
            let (theirs, ..) =
                ServerEnd::accept_opening::<FrontendSettings>(theirs).expect("heard");
            let hangs = async || {
                tokio::select! {
                    () = questions.silence(PAUSE) => true,
                    _ = questions.accept() => false,
                    () = tokio::time::sleep(10 * PAUSE) => false,
                }
            };
            let answered = tokio::select! {
                hangs = hangs() => !hangs,
                () = theirs.closed() => false,
            };
            assert!(answered, "who answers does not hang");
            assert!(hangs().await, "nobody answers");
        });
    }

    /// A compromised server may send anything.
    #[test]
    fn other_things_than_questions_are_survived() {
        let (ours, theirs) = pair().expect("a pair");
        runtime().block_on(async {
            let questions = ours
                .into_requests(|_| AccessLevel::Guest)
                .expect("a socket");
            let say = |octets: &[u8], passed: Option<BorrowedFd<'_>>| {
                send(theirs.as_fd(), octets, passed).expect("there is room");
            };
            say(&[7; 3000], None);
            say(b"q", None);
            let file = std::fs::File::open("/proc/self/status").expect("a file");
            say(b"q", Some(file.as_fd()));
            let (good, _other) = StdStream::pair().expect("a pair");
            // Of two descriptors at once, one is taken and none stays open.
            let two = [good.as_fd(), file.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
            let mut extra = SendAncillaryBuffer::new(&mut space);
            extra.push(SendAncillaryMessage::ScmRights(&two));
            sendmsg(
                &theirs,
                &[IoSlice::new(b"q")],
                &mut extra,
                SendFlags::empty(),
            )
            .expect("room");
            assert!(questions.accept().await.is_ok());
            drop(theirs);
            let none = tokio::time::timeout(Duration::from_millis(50), questions.accept()).await;
            assert!(none.is_err(), "who is gone asks nothing");
        });
    }

    /// A compromised server that sends sockets endlessly holds few descriptors of the daemon.
    #[test]
    fn a_peer_that_asks_without_end_holds_few_descriptors() {
        let (ours, theirs) = pair().expect("a pair");
        let (mine, other) = StdStream::pair().expect("a pair");
        let count = || std::fs::read_dir("/proc/self/fd").map_or(0, |all| all.count());
        let before = count();
        let flood = std::thread::spawn(move || {
            let mut most = 0;
            for number in 0..20_000 {
                while send(theirs.as_fd(), b"q", Some(other.as_fd())).is_err() {
                    std::thread::yield_now();
                }
                if number % 100 == 0 {
                    most = most.max(count());
                }
            }
            drop(mine);
            most
        });
        let limits = api::Limits {
            answers: 2,
            waiting: 2,
            ..api::Limits::default()
        };
        runtime().block_on(async {
            let questions = Rc::new(
                ours.into_requests(|_| AccessLevel::Guest)
                    .expect("a socket"),
            );
            let routes = api::Routes::new([]);
            tokio::select! {
                () = api::serve(questions, &routes, limits) => {}
                () = async {
                    while !flood.is_finished() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                } => {}
            }
        });
        let most = flood.join().expect("no panic");
        assert!(most < before + 100, "{before} before, and then {most}");
    }

    #[test]
    fn nothing_but_weir_is_listened_to() {
        for said in [&b""[..], b"{}", b"\xff", br#"{"what":1,"sockets":0}"#] {
            let (ours, theirs) = pair().expect("a pair");
            send(ours.0.as_fd(), said, None).expect("said");
            drop(ours);
            runtime().block_on(async {
                assert!(
                    ServerEnd::accept_opening::<FrontendSettings>(theirs).is_err(),
                    "{said:?}"
                );
            });
        }
    }
}
