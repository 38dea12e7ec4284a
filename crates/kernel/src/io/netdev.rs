//! XDP abilities of drivers, by query and by notification.

use std::io;

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{RequestSocket, unless};
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::message::{Messages, Tally};
use crate::netdev::{DeviceFeatures, Family, XdpFeatures, decode_device, get_device};

/// Changes read by one [`Netdev::changed`].
const MOST: usize = 64;

/// The family `netdev` of this kernel.
#[derive(Debug)]
pub struct Netdev {
    family: Family,
    requests: RequestSocket,
    changes: Option<Socket>,
    buffer: Vec<u8>,
    tally: Tally,
}

impl Netdev {
    /// Finds the family and listens to its changes, in the network namespace of the calling thread.
    /// `None`: the kernel lacks it (before 6.3), so drivers' features are found by trying.
    ///
    /// # Errors
    /// A socket cannot be opened, or the answer makes no sense.
    pub fn open() -> Result<Option<Self>, RequestError> {
        let request = "family netdev";
        let failed = |source| RequestError::Socket { request, source };
        let Some((family, requests)) = RequestSocket::of_family("netdev", request)? else {
            return Ok(None);
        };
        let mut netdev = Self {
            family,
            requests,
            changes: None,
            buffer: vec![0; BUFFER],
            tally: Tally::default(),
        };
        // The kernel reports changes in this group.
        if let Some(group) = netdev.family.group("mgmt") {
            let changes = Socket::open(Netlink::Generic, 0, 0).map_err(failed)?;
            changes.join(group).map_err(failed)?;
            netdev.changes = Some(changes);
        }
        Ok(Some(netdev))
    }

    /// Returns the features of a device's driver. `None`: no such device. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn xdp_features(&mut self, link: u32) -> Result<Option<XdpFeatures>, RequestError> {
        let id = self.family.id;
        let answer = self.requests.ask_one(
            "XDP features",
            |sequence| get_device(id, link, sequence),
            |m| decode_device(m, id),
        );
        Ok(unless(answer, &[Errno::ENODEV])?.map(|device| device.features))
    }

    /// Returns true if [`changed`](Self::changed) reports changes. If not, query again at each
    /// [`Event::Link`](crate::Event).
    pub fn tells_changes(&self) -> bool {
        self.changes.is_some()
    }

    /// Waits until devices appear or their features change, and appends them. Returns true if some
    /// changes were lost: query all devices again. Waits for ever if the kernel does not report
    /// changes. Cancelling loses nothing.
    ///
    /// # Errors
    /// The socket is broken.
    pub async fn changed(&mut self, out: &mut Vec<DeviceFeatures>) -> io::Result<bool> {
        let Self {
            family,
            changes: Some(socket),
            buffer,
            tally,
            ..
        } = self
        else {
            return std::future::pending().await;
        };
        let mut lost = false;
        let each = |received, datagram: &[u8]| {
            lost |= !matches!(received, Received::Datagram(_));
            for message in Messages::new(datagram) {
                match message.and_then(|message| decode_device(&message, family.id)) {
                    Ok(Some(device)) => {
                        tally.understood += 1;
                        out.push(device);
                    }
                    Ok(None) => tally.ignored += 1,
                    Err(error) => {
                        tally.fail(error);
                        lost = true;
                    }
                }
            }
            true
        };
        socket.drain(buffer, MOST, each).await?;
        Ok(lost)
    }

    /// Returns the counts of all messages about changes so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}
