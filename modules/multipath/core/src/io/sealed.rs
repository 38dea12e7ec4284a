//! Bytes between a plain socket and an encrypted one, both ways, through this process. An idle
//! direction holds no buffers.

use std::cell::RefCell;
use std::io::{self, IoSliceMut};
use std::net::Shutdown;

use socket2::SockRef;
use tokio::net::TcpStream;

use super::pump::Moved;
use crate::stream::{HEAD, MOST, OVERHEAD, Opener, Sealer, StreamError};

/// Records of one read of a socket.
const RECORDS: usize = 4;
/// Bytes of one read, in the clear.
const LOOK: usize = RECORDS * MOST;
/// Bytes of one read, sealed.
const SEALED: usize = RECORDS * (MOST + OVERHEAD);
/// Buffers of each kind that a thread keeps for later use.
const SPARE: usize = 16;

thread_local! {
    /// [`SEALED`] bytes each.
    static TO_SEAL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    /// Empty, with room for the output of one read.
    static OPENED: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    /// Input of one read of an encrypted socket; never held across an await.
    static ARRIVED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Both ends of an encrypted stream.
pub type Ends = (Sealer, Opener);

/// Copies in both directions: encrypted from `plain` to `sealed`, decrypted back. Ends as
/// [`pump::both`](super::pump::both) does; a cut or changed encrypted stream is an error too.
/// `told` receives counts of plain bytes, `there` being those to `sealed`.
///
/// # Errors
/// Either socket's, and a [`StreamError`] within [`io::ErrorKind::InvalidData`].
pub async fn both(
    plain: &TcpStream,
    sealed: &TcpStream,
    (sealer, opener): Ends,
    told: impl Fn(Moved),
) -> io::Result<()> {
    let there = seal(plain, sealed, sealer, |octets| {
        told(Moved {
            there: octets,
            back: 0,
        });
    });
    let back = open(sealed, plain, opener, |octets| {
        told(Moved {
            there: 0,
            back: octets,
        });
    });
    tokio::try_join!(there, back).map(|_| ())
}

async fn seal(
    from: &TcpStream,
    to: &TcpStream,
    mut sealer: Sealer,
    told: impl Fn(u64),
) -> io::Result<()> {
    let mut held: Option<Vec<u8>> = None;
    loop {
        // A connection that never waits would block the others of its thread.
        tokio::task::coop::consume_budget().await;
        let mut buffer = match held.take() {
            Some(buffer) => buffer,
            None => {
                from.readable().await?;
                TO_SEAL
                    .with_borrow_mut(Vec::pop)
                    .unwrap_or_else(|| vec![0; SEALED])
            }
        };
        match from.try_read_vectored(&mut texts(&mut buffer)) {
            Ok(0) => {
                give_back(&TO_SEAL, buffer);
                let mut last = Vec::with_capacity(OVERHEAD);
                sealer.end(&mut last);
                // As in `pump`: a disconnected side needs no end.
                if write(to, &last).await.is_ok() {
                    let _ = SockRef::from(to).shutdown(Shutdown::Write);
                }
                return Ok(());
            }
            Ok(octets) => {
                let length = octets + octets.div_ceil(MOST) * OVERHEAD;
                let records = &mut buffer[..length];
                records
                    .chunks_mut(MOST + OVERHEAD)
                    .for_each(|record| sealer.seal_in_place(record));
                write(to, records).await?;
                told(octets as u64);
                held = Some(buffer);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                give_back(&TO_SEAL, buffer);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Slices for the plaintext of each record, one behind the other.
fn texts(buffer: &mut [u8]) -> [IoSliceMut<'_>; RECORDS] {
    let mut records = buffer.chunks_exact_mut(MOST + OVERHEAD);
    std::array::from_fn(|_| {
        let record = records.next().expect("a buffer of so many records");
        IoSliceMut::new(&mut record[HEAD..HEAD + MOST])
    })
}

async fn open(
    from: &TcpStream,
    to: &TcpStream,
    mut opener: Opener,
    told: impl Fn(u64),
) -> io::Result<()> {
    let mut held: Option<Vec<u8>> = None;
    loop {
        tokio::task::coop::consume_budget().await;
        let mut buffer = match held.take() {
            Some(buffer) => buffer,
            None => {
                from.readable().await?;
                let spare = OPENED.with_borrow_mut(Vec::pop);
                spare.unwrap_or_else(|| Vec::with_capacity(LOOK + MOST))
            }
        };
        let read = ARRIVED.with_borrow_mut(|arrived| {
            arrived.resize(LOOK, 0);
            let octets = from.try_read(arrived)?;
            let opened = opener.open(&arrived[..octets], &mut buffer);
            Ok::<_, io::Error>((octets, opened))
        });
        match read {
            Ok((0, _)) => {
                give_back(&OPENED, buffer);
                return opener.finish().map_err(wrong);
            }
            Ok((_, opened)) => {
                // Bytes before a fault were valid: the other side gets them, and then the fault.
                write(to, &buffer).await?;
                told(buffer.len() as u64);
                opened.map_err(wrong)?;
                buffer.clear();
                if opener.ended() {
                    give_back(&OPENED, buffer);
                    let _ = SockRef::from(to).shutdown(Shutdown::Write);
                    return Ok(());
                }
                held = Some(buffer);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                opener.rest();
                give_back(&OPENED, buffer);
            }
            Err(error) => return Err(error),
        }
    }
}

fn wrong(error: StreamError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

async fn write(to: &TcpStream, mut octets: &[u8]) -> io::Result<()> {
    while !octets.is_empty() {
        match to.try_write(octets) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(gone) => octets = &octets[gone..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn give_back(spare: &'static std::thread::LocalKey<RefCell<Vec<Vec<u8>>>>, buffer: Vec<u8>) {
    spare.with_borrow_mut(|spare| {
        if spare.len() < SPARE {
            spare.push(buffer);
        }
    });
}
