//! Body of a datagram, opened: packets, probes and answers, hello, bye, and the proof that a router
//! is at its source address.
//!
//! | kind | body |
//! |---|---|
//! | 1 packet | the IP packet |
//! | 2 once | number (4), the IP packet: may arrive by two paths |
//! | 3 lane | lane (2), number in it (4), the IP packet: to be delivered in order |
//! | 4 probe | stamp (8) |
//! | 5 answer | probe's stamp (8), arrival (8), wait (4), packets (8), bytes (8), known hello (1) |
//! | 6 hello | number (1), flags (1), weight (1), longest datagram (2), reverse rate (8) |
//! | 7 bye | 0: of this path, 1: of the session (1) |
//! | 8 challenge | unpredictable value (8): to an address that the router is to prove |
//! | 9 response | the value of the challenge (8), from that address |
//!
//! Packets and bytes are those received by this path. Flags: 1: backup, 2: metered. Rate: bytes per
//! second, 0: unknown. Stamps are microseconds of the sender's own clock.

/// Microseconds of the local clock, which never goes back.
pub type Micros = u64;

/// Bytes of [`Order`], at most.
pub const ORDER: usize = 6;

/// Kind of a datagram's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A packet that is not ordered.
    Packet = 1,
    /// A packet that may come twice.
    Once = 2,
    /// A packet of a lane.
    Lane = 3,
    /// Asks whether the path works.
    Probe = 4,
    /// Answers a probe.
    Answer = 5,
    /// Announces a path.
    Hello = 6,
    /// Ends the path, or the session.
    Bye = 7,
    /// Asks the router to prove its source address.
    Challenge = 8,
    /// Proves the source address.
    Response = 9,
}

impl Kind {
    /// Returns the kind with this number.
    pub fn of(number: u8) -> Option<Kind> {
        use Kind::{Answer, Bye, Challenge, Hello, Lane, Once, Packet, Probe, Response};
        let all = [
            Packet, Once, Lane, Probe, Answer, Hello, Bye, Challenge, Response,
        ];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// Condition to deliver a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// At once.
    Free,
    /// Delivered at once, except for second copies. Numbered over the whole tunnel.
    Once(u32),
    /// Delivered when all packets before it in its lane arrived, or are lost.
    Lane {
        /// The lane.
        lane: u16,
        /// Number of the packet in the lane.
        number: u32,
    },
}

/// Answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The probe's stamp.
    pub stamp: Micros,
    /// Arrival of the probe, by the clock of the answering end.
    pub came: Micros,
    /// Time that the answer waited, microseconds.
    pub waited: u32,
    /// Datagrams received by this path, the probe included.
    pub packets: u64,
    /// Bytes of these datagrams.
    pub octets: u64,
    /// Number of the last hello of this path.
    pub hello: u8,
}

/// Announcement of a path, from the router to the partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Number of the announcement, which counts up with each change.
    pub number: u8,
    /// Used if no other path works.
    pub backup: bool,
    /// Costs by the byte.
    pub metered: bool,
    /// Share of new flows, in percent of the share that the rate alone would give.
    pub weight: u8,
    /// Longest datagram that passes, bytes, without UDP and IP.
    pub longest: u16,
    /// Bytes per second from the partner to the router, 0 if unknown.
    pub rate: u64,
}

/// The body of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// An IP packet.
    Packet(Order, &'a [u8]),
    /// A probe, with its stamp.
    Probe(Micros),
    /// An answer.
    Answer(Answer),
    /// An announcement of the path.
    Hello(Hello),
    /// The end of a path or session.
    Bye {
        /// End of the session, not of this path only.
        all: bool,
    },
    /// Value that the router is to send back.
    Challenge(u64),
    /// Value of the challenge.
    Response(u64),
}

/// Reads numbers from the front.
struct Front<'a>(&'a [u8]);

impl Front<'_> {
    fn number(&mut self, octets: usize) -> Option<u64> {
        let (front, rest) = self.0.split_at_checked(octets)?;
        self.0 = rest;
        Some(
            front
                .iter()
                .fold(0, |number, octet| number << 8 | u64::from(*octet)),
        )
    }

    fn octet(&mut self) -> Option<u8> {
        self.number(1).map(|number| number as u8)
    }
}

/// Writes numbers to the front.
struct Back<'a>(&'a mut [u8]);

impl Back<'_> {
    fn octets(&mut self, octets: &[u8]) {
        let (front, rest) = std::mem::take(&mut self.0).split_at_mut(octets.len());
        front.copy_from_slice(octets);
        self.0 = rest;
    }
}

impl<'a> Body<'a> {
    /// Returns the kind of the body.
    pub fn kind(&self) -> Kind {
        match self {
            Body::Packet(Order::Free, _) => Kind::Packet,
            Body::Packet(Order::Once(_), _) => Kind::Once,
            Body::Packet(Order::Lane { .. }, _) => Kind::Lane,
            Body::Probe(_) => Kind::Probe,
            Body::Answer(_) => Kind::Answer,
            Body::Hello(_) => Kind::Hello,
            Body::Bye { .. } => Kind::Bye,
            Body::Challenge(_) => Kind::Challenge,
            Body::Response(_) => Kind::Response,
        }
    }

    /// Returns the number of bytes that [`Body::write`] needs.
    pub fn length(&self) -> usize {
        match self {
            Body::Packet(Order::Free, packet) => packet.len(),
            Body::Packet(Order::Once(_), packet) => 4 + packet.len(),
            Body::Packet(Order::Lane { .. }, packet) => ORDER + packet.len(),
            Body::Probe(_) | Body::Challenge(_) | Body::Response(_) => 8,
            Body::Answer(_) => 37,
            Body::Hello(_) => 13,
            Body::Bye { .. } => 1,
        }
    }

    /// Writes the body into exactly [`Body::length`] bytes.
    pub fn write(&self, into: &mut [u8]) {
        let mut back = Back(into);
        match self {
            Body::Packet(order, packet) => {
                match order {
                    Order::Free => {}
                    Order::Once(number) => back.octets(&number.to_be_bytes()),
                    Order::Lane { lane, number } => {
                        back.octets(&lane.to_be_bytes());
                        back.octets(&number.to_be_bytes());
                    }
                }
                back.octets(packet);
            }
            Body::Probe(number) | Body::Challenge(number) | Body::Response(number) => {
                back.octets(&number.to_be_bytes());
            }
            Body::Answer(answer) => {
                back.octets(&answer.stamp.to_be_bytes());
                back.octets(&answer.came.to_be_bytes());
                back.octets(&answer.waited.to_be_bytes());
                back.octets(&answer.packets.to_be_bytes());
                back.octets(&answer.octets.to_be_bytes());
                back.octets(&[answer.hello]);
            }
            Body::Hello(hello) => {
                let flags = u8::from(hello.backup) | u8::from(hello.metered) << 1;
                back.octets(&[hello.number, flags, hello.weight]);
                back.octets(&hello.longest.to_be_bytes());
                back.octets(&hello.rate.to_be_bytes());
            }
            Body::Bye { all } => back.octets(&[u8::from(*all)]),
        }
    }

    /// Reads a body; `None` if [`Body::write`] would not write these bytes.
    pub fn read(kind: Kind, octets: &'a [u8]) -> Option<Body<'a>> {
        let mut front = Front(octets);
        let order = match kind {
            Kind::Packet => Some(Order::Free),
            Kind::Once => Some(Order::Once(front.number(4)? as u32)),
            Kind::Lane => Some(Order::Lane {
                lane: front.number(2)? as u16,
                number: front.number(4)? as u32,
            }),
            _ => None,
        };
        if let Some(order) = order {
            return (!front.0.is_empty()).then_some(Body::Packet(order, front.0));
        }
        let body = match kind {
            Kind::Probe => Body::Probe(front.number(8)?),
            Kind::Challenge => Body::Challenge(front.number(8)?),
            Kind::Response => Body::Response(front.number(8)?),
            Kind::Answer => Body::Answer(Answer {
                stamp: front.number(8)?,
                came: front.number(8)?,
                waited: front.number(4)? as u32,
                packets: front.number(8)?,
                octets: front.number(8)?,
                hello: front.octet()?,
            }),
            Kind::Hello => {
                let number = front.octet()?;
                let flags = front.octet().filter(|flags| *flags < 4)?;
                Body::Hello(Hello {
                    number,
                    backup: flags & 1 != 0,
                    metered: flags & 2 != 0,
                    weight: front.octet()?,
                    longest: front.number(2)? as u16,
                    rate: front.number(8)?,
                })
            }
            _ => Body::Bye {
                all: match front.octet()? {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
            },
        };
        front.0.is_empty().then_some(body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_read_is_written_again(kind in 1u8..10, octets in prop::collection::vec(any::<u8>(), 0..60)) {
            let kind = Kind::of(kind).unwrap();
            if let Some(body) = Body::read(kind, &octets) {
                let mut again = vec![0; body.length()];
                body.write(&mut again);
                prop_assert_eq!(body.kind(), kind);
                prop_assert_eq!(again, octets);
            }
        }

        #[test]
        fn answers_keep_their_fields(stamp: u64, came: u64, waited: u32, packets: u64, octets: u64, hello: u8) {
            let answer = Body::Answer(Answer { stamp, came, waited, packets, octets, hello });
            let mut written = [0; 37];
            answer.write(&mut written);
            prop_assert_eq!(Body::read(Kind::Answer, &written), Some(answer));
        }
    }
}
