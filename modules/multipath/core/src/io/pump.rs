//! Bytes from one socket to another and back, inside the kernel: `splice` by way of a pipe. An idle
//! direction holds no pipe.

use std::cell::RefCell;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::unistd::pipe2;
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Bytes that a pipe may hold, where the kernel permits: as much as one read of a socket may bring.
const PIPE: i32 = 256 * 1024;
/// Empty pipes that a thread keeps for later use.
const SPARE: usize = 64;

thread_local! {
    static EMPTY: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
}

struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    fn take() -> io::Result<Self> {
        if let Some(pipe) = EMPTY.with_borrow_mut(Vec::pop) {
            return Ok(pipe);
        }
        let (read, write) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)?;
        // A user's pipes share a budget; with the usual 64 KiB it works as well.
        let _ = fcntl(&write, FcntlArg::F_SETPIPE_SZ(PIPE));
        Ok(Self { read, write })
    }

    /// Returns a pipe to the pool; it must be empty.
    fn give_back(self) {
        EMPTY.with_borrow_mut(|empty| {
            if empty.len() < SPARE {
                empty.push(self);
            }
        });
    }
}

/// Bytes that went each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// From the first to the second.
    pub there: u64,
    /// From the second to the first.
    pub back: u64,
}

/// Copies in both directions. Ends when both sides have ended sending, each end being passed on by
/// itself (half-close), or when either side failed: then [`reset`] both. `told` receives the
/// numbers of copied bytes.
///
/// # Errors
/// Either socket failed.
pub async fn both(one: &TcpStream, other: &TcpStream, told: impl Fn(Moved)) -> io::Result<()> {
    let there = one_way(one, other, |octets| {
        told(Moved {
            there: octets,
            back: 0,
        });
    });
    let back = one_way(other, one, |octets| {
        told(Moved {
            there: 0,
            back: octets,
        });
    });
    tokio::try_join!(there, back).map(|_| ())
}

async fn one_way(from: &TcpStream, to: &TcpStream, told: impl Fn(u64)) -> io::Result<()> {
    let mut held: Option<Pipe> = None;
    loop {
        // A connection that never waits would block the others of its thread.
        tokio::task::coop::consume_budget().await;
        let pipe = match held.take() {
            Some(pipe) => pipe,
            None => {
                from.readable().await?;
                Pipe::take()?
            }
        };
        match from.try_io(Interest::READABLE, || {
            carry(from, &pipe.write, PIPE as usize)
        }) {
            Ok(0) => {
                pipe.give_back();
                // The other side may be gone already: then it needs no end.
                let _ = SockRef::from(to).shutdown(Shutdown::Write);
                return Ok(());
            }
            Ok(octets) => {
                empty(&pipe, to, octets).await?;
                told(octets as u64);
                held = Some(pipe);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => pipe.give_back(),
            Err(error) => return Err(error),
        }
    }
}

async fn empty(pipe: &Pipe, to: &TcpStream, mut octets: usize) -> io::Result<()> {
    while octets > 0 {
        match to.try_io(Interest::WRITABLE, || carry(&pipe.read, to, octets)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(gone) => octets -= gone,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn carry(
    from: impl std::os::fd::AsFd,
    to: impl std::os::fd::AsFd,
    octets: usize,
) -> io::Result<usize> {
    let flags = SpliceFFlags::SPLICE_F_NONBLOCK | SpliceFFlags::SPLICE_F_MOVE;
    loop {
        match splice(&from, None, &to, None, octets, flags) {
            Err(Errno::EINTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

/// Closes a connection so that the other end sees it break, not end.
pub fn reset(stream: TcpStream) {
    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
}
