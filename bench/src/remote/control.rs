//! TCP connection between sender and receiver: lines of JSON, and a limit for each wait.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::message::{BadLine, Lines, Message};

/// Longest single read: so often the callers check whether to end.
const PIECE: Duration = Duration::from_millis(50);
/// Longest write: a peer that does not take a small line in this time is gone.
const WRITE: Duration = Duration::from_secs(10);

/// Reason why the connection yields no more messages.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The other end closed the connection, or is gone.
    #[error("the other end closed the connection")]
    Closed,
    /// Nothing arrived in time.
    #[error("the other end does not respond")]
    Silent,
    /// The local `stop` asked to end.
    #[error("interrupted")]
    Ended,
    /// The other end sent a malformed line.
    #[error(transparent)]
    Bad(#[from] BadLine),
}

/// Local end of the connection.
#[derive(Debug)]
pub struct Control {
    stream: TcpStream,
    lines: Lines,
}

impl Control {
    /// Wraps a connected stream.
    ///
    /// # Errors
    /// The stream is gone already.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PIECE))?;
        stream.set_write_timeout(Some(WRITE))?;
        Ok(Self {
            stream,
            lines: Lines::default(),
        })
    }

    /// Returns the stream, for its addresses.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn say(&mut self, message: &Message) -> Result<(), ControlError> {
        self.stream
            .write_all(&message.line())
            .map_err(|_| ControlError::Closed)
    }

    /// Returns the next message, or `None` if none is complete within `PIECE`.
    ///
    /// # Errors
    /// The connection is closed, or sent a malformed line.
    pub fn poll(&mut self) -> Result<Option<Message>, ControlError> {
        if let Some(message) = self.lines.next_one()? {
            return Ok(Some(message));
        }
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(ControlError::Closed),
            Ok(length) => {
                self.lines.take(&buffer[..length]);
                Ok(self.lines.next_one()?)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
                _ => Err(ControlError::Closed),
            },
        }
    }

    /// Waits for the next message, at most `limit`, however slowly its bytes arrive.
    ///
    /// # Errors
    /// Nothing arrived in time, `stop` returned true, or the connection broke.
    pub fn hear(
        &mut self,
        limit: Duration,
        stop: &(impl Fn() -> bool + ?Sized),
    ) -> Result<Message, ControlError> {
        let begun = Instant::now();
        loop {
            if let Some(message) = self.poll()? {
                return Ok(message);
            }
            if stop() {
                return Err(ControlError::Ended);
            }
            if begun.elapsed() >= limit {
                return Err(ControlError::Silent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (Control, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let far = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (near, _) = listener.accept().expect("accepts");
        (Control::new(near).expect("there"), far)
    }

    #[test]
    fn lines_come_whole() {
        let (mut near, mut far) = pair();
        let limit = Duration::from_secs(60);
        far.write_all(b"{\"say\":").expect("written");
        assert!(near.poll().expect("there").is_none());
        far.write_all(b"\"over\"}\n{\"say\":\"bye\"}\n")
            .expect("written");
        assert_eq!(near.hear(limit, &|| false).expect("said"), Message::Over);
        assert_eq!(near.hear(limit, &|| false).expect("said"), Message::Bye);
        far.write_all(b"hello?\n").expect("written");
        let heard = near.hear(limit, &|| false);
        assert!(matches!(heard, Err(ControlError::Bad(_))), "{heard:?}");
    }

    #[test]
    fn waiting_has_an_end() {
        let (mut near, far) = pair();
        let heard = near.hear(Duration::ZERO, &|| false);
        assert!(matches!(heard, Err(ControlError::Silent)), "{heard:?}");
        let heard = near.hear(Duration::from_secs(60), &|| true);
        assert!(matches!(heard, Err(ControlError::Ended)), "{heard:?}");
        drop(far);
        let heard = near.hear(Duration::from_secs(60), &|| false);
        assert!(matches!(heard, Err(ControlError::Closed)), "{heard:?}");
    }
}
