//! Attaches peers' devices to a mesh or bridge. No undo is needed: the attachment disappears with
//! the devices, which the kernel removes when weir ends or is killed.

use kernel::Mac;
use kernel::io::{Batadv, Device, RequestError};
use kernel::route::attach::Tagged;
use nix::net::if_::if_nametoindex;
use radio_core::peering::attach::{Mesh, TAG_ID, tagged_address, tagged_name};

/// With batman-adv's headers and the tag, frames of 1,500 bytes fit in one.
const MTU: u32 = 1560;

/// Mesh or bridge that takes the devices.
#[derive(Clone, Debug)]
pub struct Carrier {
    pub mesh: Mesh,
    pub device: String,
}

impl Carrier {
    /// Attaches a peer's device. Returns the index of the master device.
    ///
    /// # Errors
    /// A sentence: the master is missing, takes no such devices, or is a bridge without spanning
    /// tree.
    pub fn put(&self, own: Mac, peer: Mac, link: u32, name: &str) -> Result<u32, String> {
        let Self { mesh, device } = self;
        let missing = |_| match mesh {
            Mesh::Bridge => format!("no {device}: run `ip link add {device} type bridge`"),
            _ => format!("no {device}: run `ip link add {device} type batadv`"),
        };
        let master = if_nametoindex(device.as_str()).map_err(missing)?;
        let failed = |error| format!("cannot put {name} into {device}: {error}");
        let mut below = Device::open(link).map_err(failed)?;
        match mesh {
            Mesh::Batman => {
                // With a smaller MTU, batman-adv fragments frames: slower, and no harm.
                let _ = below.up(MTU);
                Device::make(Tagged {
                    below: link,
                    name: &tagged_name(name),
                    mac: tagged_address(own, peer),
                    id: TAG_ID,
                    master,
                })
            }
            Mesh::Bridge => {
                let bridge = Device::open(master).and_then(|mut device| device.bridging());
                if !bridge.map_err(failed)?.tree {
                    return Err(format!(
                        "{device} is not a bridge with spanning tree, so {name} is not put into it: \
                         three access points would be a loop; ip link set {device} type bridge \
                         stp_state 1"
                    ));
                }
                below.put_into(master)
            }
            // Babel needs no change to devices.
            Mesh::Babel => Ok(()),
        }
        .map_err(failed)?;
        Ok(master)
    }

    /// Returns true if the device made for a peer's device of this name no longer exists: another
    /// program removed it, and the mesh device stayed.
    pub fn is_lost(&self, name: &str) -> bool {
        self.mesh == Mesh::Batman && if_nametoindex(tagged_name(name).as_str()).is_err()
    }

    /// Sets the throughput of a peer's device, bits a second, in the batman-adv device of this
    /// index. batman-adv searches for a station with the neighbour's address, but that is the
    /// address of the tagged device: batman-adv finds no station, and the link gets no throughput.
    /// `None`: unknown.
    ///
    /// # Errors
    /// A sentence: the device does not exist, or batman-adv refused.
    pub fn expect(&self, master: u32, name: &str, bits: Option<u64>) -> Result<(), String> {
        if self.mesh != Mesh::Batman {
            return Ok(());
        }
        let name = tagged_name(name);
        let failed = |error: RequestError| {
            let why = error.of_radio(&name);
            format!("cannot set the throughput in batman-adv: {why}")
        };
        let gone = |_| format!("{name} has disappeared from {}", self.device);
        let link = if_nametoindex(name.as_str()).map_err(gone)?;
        match Batadv::open().map_err(failed)? {
            Some(mut kernel) => kernel.set_throughput(master, link, bits).map_err(failed),
            None => Ok(()),
        }
    }
}
