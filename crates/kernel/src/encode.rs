//! Writing netlink requests into one buffer, which may hold many of them: the kernel takes several
//! in one `send`.

/// `NLM_F_REQUEST`.
pub(crate) const NLM_F_REQUEST: u16 = 0x1;
/// `NLM_F_ACK`: answer even when all is well.
pub(crate) const NLM_F_ACK: u16 = 0x4;
/// `NLM_F_DUMP`: the whole table.
pub(crate) const NLM_F_DUMP: u16 = 0x300;
pub(crate) const NLM_F_REPLACE: u16 = 0x100;
pub(crate) const NLM_F_EXCL: u16 = 0x200;
pub(crate) const NLM_F_CREATE: u16 = 0x400;

const NLA_F_NESTED: u16 = 1 << 15;

/// A growing buffer of requests.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    buffer: Vec<u8>,
}

impl Encoder {
    /// The requests, ready to be sent.
    pub fn finish(self) -> Vec<u8> {
        self.buffer
    }

    /// A single message, as [`Self::message`] appends it.
    pub fn single(kind: u16, flags: u16, sequence: u32, body: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut encoder = Self::default();
        encoder.message(kind, flags, sequence, body);
        encoder.finish()
    }

    /// Appends one message; `body` writes what follows the header. The sender's port is left to the
    /// kernel.
    pub fn message(&mut self, kind: u16, flags: u16, sequence: u32, body: impl FnOnce(&mut Self)) {
        let start = self.buffer.len();
        self.buffer.extend(0u32.to_ne_bytes());
        self.buffer.extend(kind.to_ne_bytes());
        self.buffer.extend(flags.to_ne_bytes());
        self.buffer.extend(sequence.to_ne_bytes());
        self.buffer.extend(0u32.to_ne_bytes());
        body(self);
        self.pad();
        let length = (self.buffer.len() - start) as u32;
        self.buffer[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Appends the fixed part of a message.
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes);
        self.pad();
    }

    /// Appends one attribute.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.buffer.extend((4 + value.len() as u16).to_ne_bytes());
        self.buffer.extend(kind.to_ne_bytes());
        self.fixed(value);
    }

    /// Appends one attribute that holds others.
    pub fn nested(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        let start = self.buffer.len();
        self.attribute(kind | NLA_F_NESTED, &[]);
        body(self);
        let length = (self.buffer.len() - start) as u16;
        self.buffer[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }

    fn pad(&mut self) {
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
    }
}
