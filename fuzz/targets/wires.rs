//! Untrusted input to `weir bench receive`: lines on its control port, in any pieces, and UDP
//! packets. Never a panic, bounded lines, and parsed lines survive being written and parsed again.
//! The first byte chooses the reader, and the cuts.
#![no_main]

use bench::remote::code::Code;
use bench::remote::count::Count;
use bench::remote::message::{BadLine, LONGEST, Lines, Message};
use bench::remote::payload::{HEADER, Header};
use libfuzzer_sys::fuzz_target;

fn lines(data: &[u8], cut: usize) {
    let mut lines = Lines::default();
    let mut bad = 0;
    for piece in data.chunks(cut + 1) {
        lines.take(piece);
        loop {
            match lines.next_one() {
                Ok(Some(message)) => {
                    let line = message.line();
                    let again = Message::read(&line[..line.len() - 1]);
                    // NaN has no JSON.
                    if let (Message::Trial(trial), Ok(Message::Trial(other))) = (&message, &again) {
                        assert_eq!(trial.makes_sense(), other.makes_sense());
                    }
                    if line.len() <= LONGEST {
                        assert_eq!(again, Ok(message));
                    }
                }
                Ok(None) => break,
                // Real readers stop at a malformed line; here reading goes on.
                Err(BadLine::Unknown) => bad += 1,
                Err(BadLine::TooLong) => return,
            }
        }
    }
    assert!(bad <= data.len());
}

/// Packets one after another, of a run with a few flows.
fn packets(data: &[u8]) {
    let mut count = Count::new(3);
    let mut packets = 0;
    for octets in data.chunks(HEADER) {
        let Some(header) = Header::read(octets) else {
            continue;
        };
        assert_eq!(header.write(), octets[..HEADER]);
        assert!(header.flow < 4096 && header.time < 1 << 48);
        count.take(header.flow, header.sequence, 60, header.time >> 20);
        packets += 1;
    }
    assert_eq!(count.packets + count.duplicates + count.foreign, packets);
    assert!(count.reordered <= count.packets);
    assert_eq!(count.seconds.iter().sum::<u64>(), count.packets);
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else {
        return;
    };
    match kind % 3 {
        0 => lines(data, usize::from(kind / 3)),
        1 => packets(data),
        _ => {
            if let Ok(text) = std::str::from_utf8(data)
                && let Ok(code) = text.parse::<Code>()
            {
                assert_eq!(code.to_string().parse(), Ok(code));
            }
        }
    }
});
