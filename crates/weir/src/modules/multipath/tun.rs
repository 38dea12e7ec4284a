//! The device of a tunnel.

use std::io;

use multipath::io::TunDevice;

/// Makes it.
///
/// # Errors
/// The kernel lacks `tun`, or forbids it.
pub fn open(name: &str) -> io::Result<TunDevice> {
    let (descriptor, name) = datapath::tun::open(name)?;
    let link = nix::net::if_::if_nametoindex(&*name)?;
    Ok(TunDevice {
        descriptor,
        name,
        link,
    })
}
