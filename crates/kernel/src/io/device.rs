//! A device of weir's own: brought up, and given addresses.

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{RequestSocket, unless};
use super::socket::Netlink;
use crate::encode::{Encoder, NLM_F_ACK, NLM_F_REQUEST};
use crate::encode::{NLM_F_CREATE, NLM_F_REPLACE};
use crate::prefix::Prefix;
use crate::route::attach::{
    Bridging, Tagged, decode_bridging, decode_index, get_bridging, get_index, make_tagged, remove,
    set_master,
};
use crate::rtnetlink::{
    AF_INET, AF_INET6, IFA_ADDRESS, IFA_FLAGS, IFA_LOCAL, IFF_UP, IFLA_MTU, RTM_DELADDR,
    RTM_NEWADDR, RTM_NEWLINK,
};

/// Skips duplicate address detection: there is no other host on the wire.
const IFA_F_NODAD: u32 = 2;

/// Changes a device. Needs CAP_NET_ADMIN. Nothing here waits.
#[derive(Debug)]
pub struct Device {
    kernel: RequestSocket,
    link: u32,
}

impl Device {
    /// Returns the device of this index, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn open(link: u32) -> Result<Self, RequestError> {
        let kernel = RequestSocket::open(Netlink::Route, "a device")?;
        Ok(Self { kernel, link })
    }

    /// Returns the index of the device of this name, in the network namespace of the calling
    /// thread. `None`: no such device.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn find(name: &str) -> Result<Option<u32>, RequestError> {
        let mut kernel = RequestSocket::open(Netlink::Route, "a device")?;
        let request = "the index of a device (GETLINK)";
        let answer = kernel.ask_one(request, |at| get_index(name, at), decode_index);
        unless(answer, &[Errno::ENODEV])
    }

    /// Brings the device up, with this MTU.
    ///
    /// # Errors
    /// The kernel refused: ENODEV, the device is gone; EINVAL, invalid MTU.
    pub fn up(&mut self, mtu: u32) -> Result<(), RequestError> {
        self.state(true, Some(mtu))
    }

    /// Brings the device up or takes it down, without any other change.
    ///
    /// # Errors
    /// The kernel refused: ENODEV, it is gone; EPERM.
    pub fn set_up(&mut self, up: bool) -> Result<(), RequestError> {
        self.state(up, None)
    }

    fn state(&mut self, up: bool, mtu: Option<u32>) -> Result<(), RequestError> {
        let link = self.link;
        let question = |sequence| {
            let mut encoder = Encoder::default();
            encoder.message(
                RTM_NEWLINK,
                NLM_F_REQUEST | NLM_F_ACK,
                sequence,
                |encoder| {
                    // ifinfomsg: family, type, index, flags, which of them change.
                    let flags = if up { IFF_UP } else { 0 };
                    let mut fixed = [0; 16];
                    fixed[4..8].copy_from_slice(&link.to_ne_bytes());
                    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
                    fixed[12..].copy_from_slice(&IFF_UP.to_ne_bytes());
                    encoder.fixed(&fixed);
                    if let Some(mtu) = mtu {
                        encoder.attribute(IFLA_MTU, &mtu.to_ne_bytes());
                    }
                },
            );
            encoder.finish()
        };
        self.kernel.order("a device's state (NEWLINK)", question)
    }

    /// Adds the device to another device: a bridge, or another kind with members.
    ///
    /// # Errors
    /// The kernel refused: ENODEV, one is gone; EOPNOTSUPP, the other has no members; EBUSY, the
    /// device is a member of a third.
    pub fn put_into(&mut self, master: u32) -> Result<(), RequestError> {
        let question = |sequence| set_master(self.link, master, sequence);
        self.kernel
            .order("a device's place (IFLA_MASTER)", question)
    }

    /// Creates a device with a provider's tag on top of another, adds it to a third, and brings it
    /// up, atomically.
    ///
    /// # Errors
    /// The kernel refused: EEXIST, the name is taken; ENODEV, one is gone; EOPNOTSUPP, no support
    /// for such devices, or the third has no members.
    pub fn make(tagged: Tagged<'_>) -> Result<(), RequestError> {
        let request = "a device with a tag (NEWLINK)";
        let make = |kernel: &mut RequestSocket| {
            let question = |sequence| make_tagged(tagged, sequence);
            kernel.order(request, question)?;
            Self::open(made(tagged.name)?)?.set_up(true)
        };
        let remove = |_: &mut RequestSocket, link| Self::open(link)?.remove();
        let mut kernel = RequestSocket::open(Netlink::Route, request)?;
        make_named(request, tagged.name, &mut kernel, make, remove)
    }

    fn remove(&mut self) -> Result<(), RequestError> {
        let question = |sequence| remove(self.link, sequence);
        let request = "the end of a device (DELLINK)";
        self.kernel.order(request, question)
    }

    /// Returns the bridge settings of the device.
    ///
    /// # Errors
    /// The kernel refused: ENODEV, it is gone.
    pub fn bridging(&mut self) -> Result<Bridging, RequestError> {
        let question = |sequence| get_bridging(self.link, sequence);
        self.kernel
            .ask_one("a device (GETLINK)", question, decode_bridging)
    }

    /// Gives the device an address, in a network with this prefix length. `false`: this kernel
    /// lacks the family, or it is switched off for the device.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn add_address(&mut self, address: Prefix) -> Result<bool, RequestError> {
        self.change_address(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, address)
    }

    /// Removes an address from the device. `false`: the device did not have the address.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn remove_address(&mut self, address: Prefix) -> Result<bool, RequestError> {
        let answer = self.change_address(RTM_DELADDR, 0, address);
        Ok(unless(answer, &[Errno::EADDRNOTAVAIL])? == Some(true))
    }

    fn change_address(
        &mut self,
        kind: u16,
        flags: u16,
        address: Prefix,
    ) -> Result<bool, RequestError> {
        let link = self.link;
        let (family, octets) = match address.address {
            std::net::IpAddr::V4(own) => (AF_INET, own.octets().to_vec()),
            std::net::IpAddr::V6(own) => (AF_INET6, own.octets().to_vec()),
        };
        let question = |sequence| {
            let flags = NLM_F_REQUEST | NLM_F_ACK | flags;
            Encoder::single(kind, flags, sequence, |encoder| {
                // ifaddrmsg: family, length, flags, scope, index.
                let mut fixed = [family, address.length, 0, 0, 0, 0, 0, 0];
                fixed[4..].copy_from_slice(&link.to_ne_bytes());
                encoder.fixed(&fixed);
                encoder.attribute(IFA_LOCAL, &octets);
                encoder.attribute(IFA_ADDRESS, &octets);
                encoder.attribute(IFA_FLAGS, &IFA_F_NODAD.to_ne_bytes());
            })
        };
        let answer = self.kernel.order("a device's address", question);
        let reasons = [Errno::EAFNOSUPPORT, Errno::EOPNOTSUPP, Errno::EACCES];
        unless(answer, &reasons).map(|done| done.is_some())
    }
}

/// The index of a device that was just made.
pub(super) fn made(name: &str) -> Result<u32, RequestError> {
    Device::find(name)?.ok_or(RequestError::Refused {
        request: "the index of a new device (GETLINK)",
        errno: Errno::ENODEV,
    })
}

/// Makes a device of this name by `make`; on failure, `remove` removes the remains. A kernel whose
/// answer was lost may have made the device, and its name would stay in use.
pub(super) fn make_named<T, K>(
    request: &'static str,
    name: &str,
    kernel: &mut K,
    make: impl FnOnce(&mut K) -> Result<T, RequestError>,
    remove: impl FnOnce(&mut K, u32) -> Result<(), RequestError>,
) -> Result<T, RequestError> {
    let errno = Errno::EEXIST;
    // The name belongs to a foreign device.
    if Device::find(name)?.is_some() {
        return Err(RequestError::Refused { request, errno });
    }
    let outcome = make(kernel);
    match &outcome {
        Ok(_) => {}
        Err(RequestError::Refused { errno: why, .. }) if *why == errno => {}
        Err(_) => {
            if let Ok(Some(link)) = Device::find(name) {
                // Report the reason of the first failure.
                let _ = remove(kernel, link);
            }
        }
    }
    outcome
}
