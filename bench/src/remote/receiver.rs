//! Waits for senders, and serves one at a time.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::code::Code;
use super::control::Control;
use super::message::{Refusal, TrialResult};
use super::session::{SessionEnd, greet, refuse, serve};
use super::{Problem, sockets};

/// Pause between looks for connections.
const PIECE: Duration = Duration::from_millis(50);
/// Most connections at a time.
const MOST: usize = 16;

/// Events to show to the person at the receiver.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A sender proved that it knows the code.
    Began(SocketAddr),
    /// The sender finished a trial.
    Trial(SocketAddr, TrialResult),
    /// The connection to this sender ended.
    Ended(SocketAddr, SessionEnd),
}

/// Listening receiver.
#[derive(Debug)]
pub struct Receiver {
    listener: TcpListener,
    code: Code,
}

impl Receiver {
    /// Listens, with a new code. An unspecified IPv6 address takes IPv4, too.
    ///
    /// # Errors
    /// The address is not of this machine, or the port is taken.
    pub fn listen(address: SocketAddr) -> Result<Self, Problem> {
        let hint = match address.port() {
            0..1024 => "use an address of this machine, and a port above 1023: --listen",
            _ => "use an address of this machine, or another port: --listen",
        };
        let code = Code::new()
            .map_err(|error| Problem::new(error.to_string(), "wait a moment and start again"))?;
        let open = || {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            if address.is_ipv6() {
                socket.set_only_v6(!address.ip().is_unspecified())?;
            }
            socket.set_reuse_address(true)?;
            socket.bind(&address.into())?;
            socket.listen(MOST as i32)?;
            socket.set_nonblocking(true)?;
            Ok(TcpListener::from(socket))
        };
        let listener =
            open().map_err(Problem::system(format!("cannot listen at {address}"), hint))?;
        Ok(Self { listener, code })
    }

    /// Returns the listening address.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Returns the code that senders have to know.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Serves senders until `stop` returns true; with `once`, until the first that knew the code is
    /// done.
    ///
    /// # Errors
    /// The system refuses to accept connections.
    pub fn run(
        &self,
        once: bool,
        told: &(dyn Fn(Event) + Sync),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Problem> {
        let over = AtomicBool::new(false);
        let busy = AtomicBool::new(false);
        let open = AtomicUsize::new(0);
        let ended = || over.load(Ordering::Relaxed) || stop();
        thread::scope(|scope| {
            while !ended() {
                let (stream, from) = match self.listener.accept() {
                    Ok(taken) => taken,
                    Err(error) if passing(error.kind()) => {
                        thread::sleep(PIECE);
                        continue;
                    }
                    Err(error) => {
                        over.store(true, Ordering::Relaxed);
                        let hint = "check the limits of this process: `ulimit -n`";
                        return Err(Problem::system("cannot accept a connection", hint)(error));
                    }
                };
                if open.load(Ordering::Relaxed) >= MOST {
                    continue;
                }
                let Ok(mut control) = Control::new(stream) else {
                    continue;
                };
                open.fetch_add(1, Ordering::Relaxed);
                let (open, busy, over, ended) = (&open, &busy, &over, &ended);
                scope.spawn(move || {
                    let from = sockets::canonical(from);
                    let how = self.one(&mut control, from, busy, told, ended);
                    // The sender learns the end before another sender can take the slot.
                    drop(control);
                    if let Some((how, knew)) = how {
                        told(Event::Ended(from, how));
                        if knew {
                            busy.store(false, Ordering::Relaxed);
                            over.fetch_or(once, Ordering::Relaxed);
                        }
                    }
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(())
        })
    }

    /// Serves a connection. Returns how it ended, and whether it held the measuring slot.
    fn one(
        &self,
        control: &mut Control,
        from: SocketAddr,
        busy: &AtomicBool,
        told: &dyn Fn(Event),
        stop: &dyn Fn() -> bool,
    ) -> Option<(SessionEnd, bool)> {
        let accepted = match greet(control, &self.code, stop) {
            Ok(accepted) => accepted,
            Err(how) => return how.map(|how| (how, false)),
        };
        if busy.swap(true, Ordering::Relaxed) {
            refuse(control, Refusal::Busy);
            return Some((SessionEnd::Busy, false));
        }
        told(Event::Began(from));
        let served = control
            .say(&accepted)
            .map_err(SessionEnd::from)
            .and_then(|()| {
                serve(
                    control,
                    &|counted| told(Event::Trial(from, counted.clone())),
                    stop,
                )
            });
        Some((served.err().unwrap_or(SessionEnd::Done), true))
    }
}

/// Returns whether the next `accept` may succeed.
fn passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}
