//! Impostors that answer instead of the partner, and the router's reaction.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use answers::PartnerState;
use lab::namespace::wait_until;
use lab::transfer::ask_tcp;
use lab::uplinks::{Options, PARTNER, SERVER};
use lab::{Error, Uplinks};
use multipath_core::frame::Kind;
use multipath_core::handshake::Responder;
use multipath_core::session::{session_id, unknown};
use multipath_core::{Identity, Key, KeyId, Pairing, SessionId, Welcome};
use weir_tests::{LIMIT, Weir};

use crate::multipath::raw_frames::frame_of;
use crate::multipath::{SECOND, at, ms};

/// Answers handshakes with a given frame, and each open with "unknown session".
struct Impostor {
    stopping: Arc<AtomicBool>,
    handshakes: Arc<AtomicUsize>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Impostor {
    /// Starts to listen; `answer` makes a frame from a handshake's body.
    fn start(
        uplinks: &Uplinks,
        answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static,
    ) -> Result<Self, Error> {
        let partner = uplinks.partner();
        let listener = partner
            .enter(|| TcpListener::bind(SocketAddr::new(PARTNER, multipath_core::PORT)))?
            .map_err(Error::system("listen"))?;
        listener
            .set_nonblocking(true)
            .map_err(Error::system("listen"))?;
        let (stopping, handshakes) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (stop, count) = (Arc::clone(&stopping), Arc::clone(&handshakes));
        let serve = move || {
            while !stop.load(Ordering::Relaxed) {
                let Ok((mut stream, _)) = listener.accept() else {
                    std::thread::sleep(ms(2));
                    continue;
                };
                stream.set_nonblocking(false).expect("set");
                let said = match frame_of(&mut stream) {
                    (Kind::Handshake, body) => {
                        count.fetch_add(1, Ordering::Relaxed);
                        answer(&body)
                    }
                    (_, body) => unknown(session_id(&body).expect("an open")),
                };
                let _ = stream.write_all(&said);
                linger(&stream);
            }
        };
        Ok(Self {
            stopping,
            handshakes,
            thread: Some(partner.background(serve)?),
        })
    }

    fn handshakes(&self) -> usize {
        self.handshakes.load(Ordering::Relaxed)
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads all payload behind an open: unread payload would turn the end into a reset.
fn linger(mut stream: &TcpStream) {
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.set_read_timeout(Some(ms(200)));
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Returns the identity that the router takes for its partner's.
fn identity() -> Identity {
    Identity::from([6; 32])
}

fn key() -> Key {
    Key::new(KeyId([3; 8]), [5; 32], identity().public())
}

fn router(uplinks: &Uplinks) -> Result<Weir, Error> {
    let line = Pairing::at(&PARTNER.to_string(), key()).expect("a line");
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    Weir::start(uplinks.router(), &config, &["--only", "multipath", "-v"])
}

fn paths(weir: &Weir) -> Result<answers::Paths, Error> {
    let told = weir.client()?.paths();
    told.map_err(|error| Error::Unexpected(error.to_string()))
}

#[test]
fn unknown_sessions_lead_to_few_handshakes() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
    let answer = |body: &[u8]| {
        let welcome = Welcome {
            ipv4: true,
            ipv6: false,
            aes: false,
            tunnel4: None,
            tunnel6: None,
            mtu: 1280,
            version: "0".into(),
            forwards: Vec::new(),
            places: None,
        };
        let id = SessionId::generate().expect("random");
        let asked = Responder::read(&identity(), &key(), body).expect("a handshake");
        let (_, frame) = asked.welcome(id, &welcome).expect("a welcome");
        frame
    };
    let impostor = Impostor::start(&uplinks, answer)?;
    let weir = router(&uplinks)?;
    wait_until("the partner", LIMIT, || Ok(paths(&weir)?.redirects))?;
    let _echo = lab::transfer::Echo::serve(uplinks.server(), at(SERVER))?;
    let begun = Instant::now();
    while begun.elapsed() < 6 * SECOND {
        // After two answers of "unknown session" the connection goes directly.
        assert_eq!(ask_tcp(uplinks.client(), at(SERVER), b"still")?, b"still");
    }
    // Handshakes follow after 0, 1, 2, 3, 4 and 6 seconds, not for each connection.
    let (made, took) = (impostor.handshakes(), begun.elapsed());
    assert!((2..=2 + took.as_secs() as usize).contains(&made), "{made}");
    Ok(())
}

#[test]
fn a_partner_of_another_version_is_named() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
    let impostor = Impostor::start(&uplinks, |_| vec![9, 6, 0, 2, 8, 9])?;
    let weir = router(&uplinks)?;
    let begun = Instant::now();
    wait_until("it to be told", LIMIT, || {
        let told = paths(&weir)?;
        let problem = told.problem.unwrap_or_default();
        Ok(told.state == PartnerState::Failed && problem.contains("versions 8 to 9"))
    })?;
    std::thread::sleep(3 * SECOND);
    let (made, took) = (impostor.handshakes(), begun.elapsed());
    assert!(made <= 2 + took.as_secs() as usize, "{made} in {took:?}");
    Ok(())
}
