//! Identity of a node in its beacon: an element of our vendor (IEEE 802.11, 9.4.2.25).

use kernel::Mac;

use super::secret::Secret;
use super::{VENDOR, VERSION};

/// The number of a vendor's element.
pub(super) const VENDOR_ELEMENT: u8 = 221;
/// Which of our elements it is.
const KIND: u8 = 1;
/// Bytes behind the element's length.
const LENGTH: usize = 3 + 1 + 1 + 8 + 32 + 16;

/// A start of a node at one device, as a random number: a node with a new number has forgotten all
/// keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance(pub [u8; 8]);

/// Content of the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Which start of the node this is.
    pub instance: Instance,
    /// The node's public key.
    pub public: [u8; 32],
    tag: [u8; 16],
}

impl Element {
    /// Creates the element of a node with this key, for the network with this name, and an access
    /// point's address.
    pub fn new(
        secret: &Secret,
        public: [u8; 32],
        instance: Instance,
        mac: Mac,
        ssid: &[u8],
    ) -> Self {
        let tag = secret.tag(&parts(&mac, &instance.0, &public, ssid));
        Self {
            instance,
            public,
            tag,
        }
    }

    /// Returns true if a holder of the secret made the element for this address and this name.
    /// Anyone may repeat the element, but for no other address.
    pub fn is_proven(&self, secret: &Secret, mac: Mac, ssid: &[u8]) -> bool {
        let parts = parts(&mac, &self.instance.0, &self.public, ssid);
        secret.proves(&self.tag, &parts)
    }

    /// Returns the whole element.
    pub fn octets(&self) -> Vec<u8> {
        let head = [VENDOR_ELEMENT, LENGTH as u8];
        let Self {
            instance,
            public,
            tag,
        } = self;
        [
            &head[..],
            &VENDOR,
            &[KIND, VERSION],
            &instance.0,
            public,
            tag,
        ]
        .concat()
    }

    /// Parses a vendor's element. `None`: another element, or another version.
    pub fn read(body: &[u8]) -> Option<Self> {
        let rest = body.strip_prefix(&VENDOR)?.strip_prefix(&[KIND, VERSION])?;
        let (instance, rest) = rest.split_first_chunk()?;
        let (public, rest) = rest.split_first_chunk()?;
        // A later version appends its fields behind the tag.
        let (tag, _) = rest.split_first_chunk()?;
        Some(Self {
            instance: Instance(*instance),
            public: *public,
            tag: *tag,
        })
    }
}

fn parts<'a>(
    mac: &'a Mac,
    instance: &'a [u8; 8],
    public: &'a [u8; 32],
    ssid: &'a [u8],
) -> [&'a [u8]; 6] {
    [b"beacon", &[VERSION], mac, instance, public, ssid]
}
