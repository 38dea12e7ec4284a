//! Messages between sender and receiver, one JSON object a line.
//!
//! ```text
//! receiver: hello        its version and challenge
//! sender:   hello, proof
//! receiver: accepted     its own proof; or refused, and why
//! sender:   trial        what will be sent
//! receiver: ready        where to
//! sender:   over         once all is sent
//! receiver: counted      what arrived
//!           ...          trial after trial
//! sender:   bye
//! ```

use serde::{Deserialize, Serialize};

use super::code::Challenge;
use super::{MOST_FLOWS, MOST_SECONDS, frame};
use crate::machine::Machine;

/// Longest line, in bytes.
pub const LONGEST: usize = 16 * 1024;

/// Message on the control connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum Message {
    /// First message of each side.
    Hello {
        /// [`SCHEMA`](super::SCHEMA).
        schema: String,
        /// Challenge for the other side's proof.
        challenge: Challenge,
    },
    /// Sender: proves that it knows the code.
    Proof {
        /// HMAC-SHA256.
        proof: Vec<u8>,
    },
    /// Receiver: proves that it knows the code, too.
    Accepted {
        /// HMAC-SHA256.
        proof: Vec<u8>,
        /// Machine that counts.
        machine: Machine,
    },
    /// Receiver: refuses, and closes.
    Refused {
        /// Reason.
        reason: Refusal,
    },
    /// Sender: announces a trial.
    Trial(Trial),
    /// Receiver: counts from now on.
    Ready {
        /// UDP port to send to.
        port: u16,
        /// Sockets that share the work.
        sockets: usize,
    },
    /// Sender: all packets are sent.
    Over,
    /// Receiver: result of the trial.
    Counted(TrialResult),
    /// Sender: no more trials.
    Bye,
}

/// Reason why a receiver refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The proof was made with another code.
    WrongCode,
    /// The receiver measures with another sender.
    Busy,
    /// The sender made an invalid request.
    Nonsense,
    /// The receiver cannot open its sockets.
    NoSocket,
}

/// Announced trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number in each packet of this trial.
    pub run: u32,
    /// Flows.
    pub flows: u32,
    /// Frame length in bytes, without checksum.
    pub length: u16,
    /// Longest time, with greetings and warm-up. After it and a grace the receiver gives up.
    pub seconds: f64,
}

impl Trial {
    /// Returns whether flows, length and seconds are within their limits.
    pub fn makes_sense(&self) -> bool {
        (1..=MOST_FLOWS).contains(&self.flows)
            && (frame::SHORTEST..=frame::LONGEST).contains(&self.length)
            && (0.0..=2.0 * MOST_SECONDS).contains(&self.seconds)
    }
}

/// Result of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Packets, without duplicates.
    pub packets: u64,
    /// Bytes of their frames.
    pub octets: u64,
    /// Packets that arrived behind one sent later.
    pub reordered: u64,
    /// Packets that arrived again.
    pub duplicates: u64,
    /// Packets at the sockets that are not of the trial.
    pub foreign: u64,
    /// Packets dropped by the receiver's own sockets.
    pub socket_dropped: u64,
    /// Packets dropped by the receiver's device.
    pub device_dropped: u64,
    /// Changes of the receiver's link up or down meanwhile.
    pub carrier_changes: u64,
    /// Packets in each second since the first one.
    pub seconds: Vec<u64>,
}

/// Error: malformed line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// Longer than [`LONGEST`].
    #[error("line too long")]
    TooLong,
    /// Not a valid message.
    #[error("not a line of weir's bench")]
    Unknown,
}

impl Message {
    /// Returns the line, with its newline.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Parses a line without its newline.
    ///
    /// # Errors
    /// The line is too long, or not a valid message.
    pub fn read(line: &[u8]) -> Result<Self, BadLine> {
        if line.len() > LONGEST {
            return Err(BadLine::TooLong);
        }
        serde_json::from_slice(line).map_err(|_| BadLine::Unknown)
    }
}

/// Assembles lines from received bytes.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    octets: Vec<u8>,
}

impl Lines {
    /// Adds received bytes.
    pub fn take(&mut self, octets: &[u8]) {
        self.octets.extend(octets);
    }

    /// Returns the next message, or `None` while its line is incomplete.
    ///
    /// # Errors
    /// The line is too long, or not a valid message.
    pub fn next_one(&mut self) -> Result<Option<Message>, BadLine> {
        let within = &self.octets[..self.octets.len().min(LONGEST + 1)];
        match within.iter().position(|octet| *octet == b'\n') {
            Some(end) => {
                let line: Vec<u8> = self.octets.drain(..=end).collect();
                Message::read(&line[..end]).map(Some)
            }
            None if self.octets.len() > LONGEST => Err(BadLine::TooLong),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Message> {
        let trial = Trial {
            run: 7,
            flows: 64,
            length: 60,
            seconds: 2.0,
        };
        vec![
            Message::Hello {
                schema: super::super::SCHEMA.into(),
                challenge: [7; 16],
            },
            Message::Proof {
                proof: vec![1, 2, 3],
            },
            Message::Accepted {
                proof: vec![1; 32],
                machine: Machine::this(),
            },
            Message::Refused {
                reason: Refusal::WrongCode,
            },
            Message::Trial(trial),
            Message::Ready {
                port: 9467,
                sockets: 2,
            },
            Message::Over,
            Message::Counted(TrialResult {
                packets: u64::MAX,
                seconds: vec![1; 128],
                ..TrialResult::default()
            }),
            Message::Bye,
        ]
    }

    #[test]
    fn is_read_as_it_was_written() {
        let mut lines = Lines::default();
        for message in all() {
            let line = message.line();
            assert!(line.len() < LONGEST);
            for octet in &line[..line.len() - 1] {
                lines.take(&[*octet]);
                assert_eq!(lines.next_one(), Ok(None));
            }
            lines.take(b"\n");
            assert_eq!(lines.next_one(), Ok(Some(message)));
        }
        lines.take(&all().iter().flat_map(Message::line).collect::<Vec<_>>());
        for message in all() {
            assert_eq!(lines.next_one(), Ok(Some(message)));
        }
        assert_eq!(lines.next_one(), Ok(None));
    }

    #[test]
    fn a_number_of_many_digits_is_read_the_same_again() {
        let trial = Message::Trial(Trial {
            run: 7,
            flows: 64,
            length: 60,
            seconds: 2.2222222222222224e97,
        });
        let line = trial.line();
        assert_eq!(Message::read(&line[..line.len() - 1]), Ok(trial));
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for text in ["", "{}", "GET / HTTP/1.1\r", "{\"say\":\"warp\"}", "[[[["] {
            let mut lines = Lines::default();
            lines.take(text.as_bytes());
            lines.take(b"\n");
            assert_eq!(lines.next_one(), Err(BadLine::Unknown), "{text}");
        }
        let mut lines = Lines::default();
        lines.take(&vec![b'x'; LONGEST]);
        assert_eq!(lines.next_one(), Ok(None));
        lines.take(b"x");
        assert_eq!(lines.next_one(), Err(BadLine::TooLong));
        let mut lines = Lines::default();
        lines.take(&"[".repeat(LONGEST - 1).into_bytes());
        lines.take(b"\n");
        assert_eq!(lines.next_one(), Err(BadLine::Unknown), "deep");
    }

    #[test]
    fn only_trials_that_end_make_sense() {
        let trial = Trial {
            run: 7,
            flows: 64,
            length: 60,
            seconds: 2.0,
        };
        assert!(trial.makes_sense());
        for trial in [
            Trial { flows: 0, ..trial },
            Trial {
                flows: 4097,
                ..trial
            },
            Trial {
                length: 59,
                ..trial
            },
            Trial {
                length: 1515,
                ..trial
            },
            Trial {
                seconds: f64::NAN,
                ..trial
            },
            Trial {
                seconds: 1e9,
                ..trial
            },
            Trial {
                seconds: -1.0,
                ..trial
            },
        ] {
            assert!(!trial.makes_sense(), "{trial:?}");
        }
    }
}
