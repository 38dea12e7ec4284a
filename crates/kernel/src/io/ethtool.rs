//! Queries about VLAN tags and speed of devices.

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{RequestSocket, unless};
use crate::ethtool::{HiddenTags, decode_features, decode_speed, get_features, get_speed};

/// The family `ethtool` of this kernel.
#[derive(Debug)]
pub struct Ethtool {
    family: u16,
    requests: RequestSocket,
}

impl Ethtool {
    /// Finds the family, in the network namespace of the calling thread. `None`: the kernel was
    /// built without it.
    ///
    /// # Errors
    /// The socket cannot be opened, or the answer makes no sense.
    pub fn open() -> Result<Option<Self>, RequestError> {
        let found = RequestSocket::of_family("ethtool", "family ethtool")?;
        Ok(found.map(|(family, requests)| Self {
            family: family.id,
            requests,
        }))
    }

    /// Returns the VLAN tags that a device strips. `None`: no such device. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn hidden_tags(&mut self, link: u32) -> Result<Option<HiddenTags>, RequestError> {
        let family = self.family;
        let answer = self.requests.ask_one(
            "features of a device",
            |sequence| get_features(family, link, sequence),
            |message| decode_features(message, family),
        );
        unless(answer, &[Errno::ENODEV])
    }

    /// Returns the speed of a device, in Mbit/s; `None` if unknown, or if the device does not
    /// exist. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn speed(&mut self, link: u32) -> Result<Option<u32>, RequestError> {
        let family = self.family;
        let answer = self.requests.ask_one(
            "speed of a device",
            |sequence| get_speed(family, link, sequence),
            |message| decode_speed(message, family),
        );
        // The device is gone or down, or its driver does not report it.
        let reasons = [Errno::ENODEV, Errno::EOPNOTSUPP, Errno::EINVAL];
        Ok(unless(answer, &reasons)?.flatten())
    }
}
