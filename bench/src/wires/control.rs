//! The connection by which sender and receiver speak: lines over TCP, with an end to all waiting.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::message::{BadLine, Lines, Message};

/// How long one piece of waiting takes: so soon is seen that someone wants it to end.
const PIECE: Duration = Duration::from_millis(50);
/// A line is small: who does not take it in this time is gone.
const WRITE: Duration = Duration::from_secs(10);

/// Why nothing more is to be heard.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The other end closed it, or is gone.
    #[error("the other end is gone")]
    Closed,
    /// Nothing came in time.
    #[error("the other end says nothing")]
    Silent,
    /// Somebody here wants to end.
    #[error("it was ended")]
    Ended,
    /// What came is no line of ours.
    #[error(transparent)]
    Bad(#[from] BadLine),
}

/// One end of it.
#[derive(Debug)]
pub struct Control {
    stream: TcpStream,
    lines: Lines,
}

impl Control {
    /// Of a stream that is connected.
    ///
    /// # Errors
    /// It is gone already.
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

    /// The stream.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Says something.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn say(&mut self, message: &Message) -> Result<(), Broken> {
        self.stream
            .write_all(&message.line())
            .map_err(|_| Broken::Closed)
    }

    /// What is said within a moment. `None`: nothing was.
    ///
    /// # Errors
    /// There is nothing more to hear.
    pub fn poll(&mut self) -> Result<Option<Message>, Broken> {
        if let Some(message) = self.lines.next_one()? {
            return Ok(Some(message));
        }
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(Broken::Closed),
            Ok(length) => {
                self.lines.take(&buffer[..length]);
                Ok(self.lines.next_one()?)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
                _ => Err(Broken::Closed),
            },
        }
    }

    /// What is said next, within a time from now, however slowly it comes.
    ///
    /// # Errors
    /// Nothing came, or `stop` said so.
    pub fn hear(
        &mut self,
        limit: Duration,
        stop: &(impl Fn() -> bool + ?Sized),
    ) -> Result<Message, Broken> {
        let begun = Instant::now();
        loop {
            if let Some(message) = self.poll()? {
                return Ok(message);
            }
            if stop() {
                return Err(Broken::Ended);
            }
            if begun.elapsed() >= limit {
                return Err(Broken::Silent);
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
        assert!(matches!(heard, Err(Broken::Bad(_))), "{heard:?}");
    }

    #[test]
    fn waiting_has_an_end() {
        let (mut near, far) = pair();
        let heard = near.hear(Duration::ZERO, &|| false);
        assert!(matches!(heard, Err(Broken::Silent)), "{heard:?}");
        let heard = near.hear(Duration::from_secs(60), &|| true);
        assert!(matches!(heard, Err(Broken::Ended)), "{heard:?}");
        drop(far);
        let heard = near.hear(Duration::from_secs(60), &|| false);
        assert!(matches!(heard, Err(Broken::Closed)), "{heard:?}");
    }
}
