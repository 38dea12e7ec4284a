//! Protocols of netlink, and results of a read.

/// A netlink protocol (`include/uapi/linux/netlink.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Netlink {
    /// Links, addresses, routes, rules, neighbours, qdiscs.
    Route = 0,
    /// Sockets.
    Diagnosis = 4,
    /// IPsec.
    Xfrm = 6,
    /// Conntrack and nf_tables.
    Netfilter = 12,
    /// Families by name.
    Generic = 16,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// This many bytes from the kernel.
    Datagram(usize),
    /// The datagram exceeds the buffer; the rest is lost.
    TooLong,
    /// Datagrams were lost before this read (ENOBUFS).
    Lost,
    /// No datagram is waiting.
    Empty,
}
