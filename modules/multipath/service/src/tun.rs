//! Device of a tunnel.

use std::io;

use multipath_core::io::TunDevice;

/// Name of the router's end of the tunnel.
pub const DEVICE: &str = "weir-tunnel";

/// Makes the device.
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

/// Returns a remedy for this error.
pub fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "`modprobe tun`; on OpenWrt, install kmod-tun",
        io::ErrorKind::PermissionDenied => {
            "run it as root, or with CAP_NET_ADMIN and access to /dev/net/tun"
        }
        _ => "check whether a device of that name exists: `ip link`",
    }
}
