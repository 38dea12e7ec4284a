//! TCP sockets as `ss -tiM` shows them: subflows of MPTCP connections, and plain connections
//! (`include/uapi/linux/inet_diag.h`, `mptcp.h`, `tcp.h`). Read by [`crate::io::Subflows`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message, Problem, u16_at, u32_at};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_ULP_INFO: u16 = 19;
const INET_ULP_INFO_MPTCP: u16 = 3;
const INET_DIAG_REQ_BYTECODE: u16 = 1;
const INET_DIAG_REQ_PROTOCOL: u16 = 3;
const INET_DIAG_BC_S_EQ: u8 = 11;
const INET_DIAG_BC_D_EQ: u8 = 12;

const SUBFLOW_ATTR_TOKEN_REM: u16 = 1;
const SUBFLOW_ATTR_TOKEN_LOC: u16 = 2;
const SUBFLOW_ATTR_FLAGS: u16 = 8;
const SUBFLOW_ATTR_ID_REM: u16 = 9;
const SUBFLOW_ATTR_ID_LOC: u16 = 10;

/// `MPTCP_SUBFLOW_FLAG_*`.
mod flag {
    pub const MCAP_REM: u32 = 1;
    pub const JOIN_REM: u32 = 1 << 2;
    pub const JOIN_LOC: u32 = 1 << 3;
    pub const BKUP_REM: u32 = 1 << 4;
    pub const BKUP_LOC: u32 = 1 << 5;
}

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const IPPROTO_MPTCP: u32 = 262;

/// `TCP_ESTABLISHED` and `TCP_CLOSE_WAIT`: both ends are open, or this end may still send.
const ALIVE: [u8; 2] = [1, 8];
/// The part of `struct mptcp_info` that is read: up to `mptcpi_token`, which is there from its
/// first version on.
const CONNECTION: usize = 16;
/// `MPTCP_INFO_FLAG_FALLBACK`: it is plain TCP now.
const FALLBACK: u32 = 1;

/// The fixed part of an answer: `struct inet_diag_msg`.
const MESSAGE: usize = 72;
/// The part of `struct tcp_info` that is read: up to `tcpi_bytes_retrans`, which is there from
/// Linux 4.19 on.
const INFO: usize = 216;

/// Selection of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sockets {
    /// Sockets to this port of the other side, as a client's are.
    To(u16),
    /// Sockets at this port of this side, as a server's are.
    At(u16),
}

/// Role of a socket in MPTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubflowKind {
    /// The subflow that its connection began with.
    First,
    /// A subflow that joined a connection.
    Joined,
    /// The only subflow of a connection that requested MPTCP and did not get it: the other side, or
    /// a box in between, lacks MPTCP. A server's are [`Plain`](Self::Plain), and a fallback later
    /// than the handshake is still [`First`](Self::First): MPTCP_INFO shows it.
    FellBack,
    /// TCP that has nothing to do with MPTCP.
    Plain,
}

/// The kernel's `TCP_*` states (`include/net/tcp_states.h`) that weir reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TcpState {
    /// Established.
    Established,
    /// A request without an answer yet.
    SynSent,
    /// A connection that either side is closing.
    Closing,
}

/// A TCP socket: a subflow, or a plain connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subflow {
    /// Role of the socket.
    pub kind: SubflowKind,
    /// Token of its MPTCP connection on this side; 0 for plain TCP, and without CAP_NET_ADMIN.
    pub token: u32,
    /// Number of the local address in this connection; 0 is the first subflow's.
    pub local_id: u8,
    /// Number of the remote address.
    pub remote_id: u8,
    /// True if either side uses the subflow only while no other can carry data.
    pub backup: bool,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Device that it is bound to.
    pub link: Option<u32>,
    /// State of the socket.
    pub state: TcpState,
    /// Identity of the socket as long as it lives.
    pub cookie: u64,
    /// Congestion control, as the kernel calls it.
    pub congestion: String,
    /// Performance of the socket.
    pub tcp: TcpInfo,
}

/// Performance of a TCP socket: a part of `struct tcp_info`. Bytes are those of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Time-outs in a row without an answer.
    pub retransmits: u8,
    /// Time-out for a retransmission, µs.
    pub rto: u32,
    /// Bytes of data in a segment.
    pub mss: u32,
    /// Segments that were sent and not acknowledged.
    pub unacked: u32,
    /// Unacknowledged segments that count as lost.
    pub lost: u32,
    /// Since data was last sent, ms.
    pub since_sent: u32,
    /// Since data was last received, ms.
    pub since_received: u32,
    /// Since an acknowledgement was last received, ms.
    pub since_acked: u32,
    /// Smoothed round trip, µs; 0: not measured yet.
    pub rtt: u32,
    /// Variation of the round trip, µs.
    pub rtt_variation: u32,
    /// The shortest of the last minutes, µs.
    pub rtt_least: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Bytes a second that pacing allows.
    pub pacing_rate: u64,
    /// Bytes acknowledged by the other side.
    pub bytes_acked: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes that wait to be sent.
    pub not_sent: u32,
    /// Bytes a second that lately arrived at the other side.
    pub delivery_rate: u64,
    /// True if there was no more to send: a higher rate was possible.
    pub app_limited: bool,
    /// Time with data to send, µs.
    pub busy: u64,
    /// Bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// Bytes sent again.
    pub bytes_retrans: u64,
}

/// Decodes a socket of a dump. `None`: another message, or a socket without data (being opened, or
/// closed).
///
/// # Errors
/// Names the part that is cut short or of a wrong length.
pub fn decode(message: &Message<'_>) -> Result<Option<Subflow>, DecodeError> {
    if message.kind != SOCK_DIAG_BY_FAMILY {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<MESSAGE>("inet_diag_msg")?;
    let state = match fixed[1] {
        1 => TcpState::Established,
        2 => TcpState::SynSent,
        4 | 5 | 8 | 9 | 11 => TcpState::Closing,
        _ => return Ok(None),
    };
    let (Some(local), Some(remote)) = (address(fixed, 4, 8), address(fixed, 6, 24)) else {
        return Ok(None);
    };
    let mut subflow = Subflow {
        kind: SubflowKind::Plain,
        token: 0,
        local_id: 0,
        remote_id: 0,
        backup: false,
        local,
        remote,
        link: Some(u32_at(fixed, 40)).filter(|link| *link != 0),
        state,
        cookie: u64::from(u32_at(fixed, 48)) << 32 | u64::from(u32_at(fixed, 44)),
        congestion: String::new(),
        tcp: TcpInfo::default(),
    };
    let mut told = false;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            INET_DIAG_INFO => {
                subflow.tcp = information(&attribute)?;
                told = true;
            }
            INET_DIAG_CONG => subflow.congestion = attribute.text(),
            INET_DIAG_ULP_INFO => {
                for attribute in attribute.nested("INET_DIAG_ULP_INFO") {
                    let attribute = attribute?;
                    if attribute.kind == INET_ULP_INFO_MPTCP {
                        mptcp(&attribute, &mut subflow)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(told.then_some(subflow))
}

/// Decodes an MPTCP connection of a dump: its token. `None`: another message, or one that fell back
/// to TCP.
///
/// # Errors
/// Names the part that is cut short.
pub fn decode_connection(message: &Message<'_>) -> Result<Option<u32>, DecodeError> {
    if message.kind != SOCK_DIAG_BY_FAMILY {
        return Ok(None);
    }
    let (_, attributes) = message.split::<MESSAGE>("inet_diag_msg")?;
    let Some(told) = attributes.first(INET_DIAG_INFO)? else {
        return Ok(None);
    };
    let info: &[u8; CONNECTION] = told
        .value
        .first_chunk()
        .ok_or(DecodeError::new("mptcp_info", Problem::CutShort))?;
    let (flags, token) = (u32_at(info, 8), u32_at(info, 12));
    Ok(Some(token).filter(|token| *token != 0 && flags & FALLBACK == 0))
}

/// Decodes MPTCP's attributes of a subflow.
fn mptcp(told: &Attribute<'_>, subflow: &mut Subflow) -> Result<(), DecodeError> {
    let mut flags = 0;
    for attribute in told.nested("INET_ULP_INFO_MPTCP") {
        let attribute = attribute?;
        match attribute.kind {
            SUBFLOW_ATTR_TOKEN_LOC => {
                subflow.token = attribute.u32_native("MPTCP_SUBFLOW_ATTR_TOKEN_LOC")?;
            }
            SUBFLOW_ATTR_FLAGS => flags = attribute.u32_native("MPTCP_SUBFLOW_ATTR_FLAGS")?,
            SUBFLOW_ATTR_ID_REM => {
                [subflow.remote_id] = attribute.array("MPTCP_SUBFLOW_ATTR_ID_REM")?;
            }
            SUBFLOW_ATTR_ID_LOC => {
                [subflow.local_id] = attribute.array("MPTCP_SUBFLOW_ATTR_ID_LOC")?;
            }
            SUBFLOW_ATTR_TOKEN_REM => {
                attribute.u32_native("MPTCP_SUBFLOW_ATTR_TOKEN_REM")?;
            }
            _ => {}
        }
    }
    subflow.backup = flags & (flag::BKUP_REM | flag::BKUP_LOC) != 0;
    subflow.kind = if flags & (flag::JOIN_REM | flag::JOIN_LOC) != 0 {
        SubflowKind::Joined
    } else if flags & flag::MCAP_REM != 0 || subflow.state == TcpState::SynSent {
        SubflowKind::First
    } else {
        SubflowKind::FellBack
    };
    Ok(())
}

/// Reads `struct tcp_info`. It grows at its end only.
fn information(told: &Attribute<'_>) -> Result<TcpInfo, DecodeError> {
    let info: &[u8; INFO] = told
        .value
        .first_chunk()
        .ok_or(DecodeError::new("INET_DIAG_INFO", Problem::CutShort))?;
    let word = |at| u32_at(info, at);
    let long = |at: usize| {
        let octets = info[at..at + 8].try_into().unwrap_or_default();
        u64::from_ne_bytes(octets)
    };
    Ok(TcpInfo {
        retransmits: info[2],
        // Bit fields begin at the low end on little-endian machines, at the high one on others.
        app_limited: info[7]
            & if cfg!(target_endian = "little") {
                1
            } else {
                0x80
            }
            != 0,
        rto: word(8),
        mss: word(16),
        unacked: word(24),
        lost: word(32),
        since_sent: word(44),
        since_received: word(52),
        since_acked: word(56),
        rtt: word(68),
        rtt_variation: word(72),
        cwnd: word(80),
        pacing_rate: long(104),
        bytes_acked: long(120),
        bytes_received: long(128),
        not_sent: word(144),
        rtt_least: word(148),
        delivery_rate: long(160),
        busy: long(168),
        bytes_sent: long(200),
        bytes_retrans: long(208),
    })
}

/// Decodes a port, in network order, and an address. IPv4 addresses in an IPv6 socket become IPv4
/// addresses.
fn address(fixed: &[u8; MESSAGE], port: usize, at: usize) -> Option<SocketAddr> {
    let address: IpAddr = match fixed[0] {
        AF_INET => {
            let octets: [u8; 4] = fixed[at..at + 4].try_into().ok()?;
            Ipv4Addr::from(octets).into()
        }
        AF_INET6 => {
            let octets: [u8; 16] = fixed[at..at + 16].try_into().ok()?;
            Ipv6Addr::from(octets).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_be(u16_at(fixed, port))))
}

/// Requests all such sockets of a family, except those that listen, are being opened by the other
/// side, or are closed.
pub(crate) fn dump(sockets: Sockets, ipv6: bool, sequence: u32) -> Vec<u8> {
    request(sockets, ipv6, &[1, 2, 4, 5, 8, 9, 11], None, sequence)
}

/// Requests the MPTCP connections of a family that still carry data, regardless of their subflows.
pub(crate) fn dump_connections(sockets: Sockets, ipv6: bool, sequence: u32) -> Vec<u8> {
    request(sockets, ipv6, &ALIVE, Some(IPPROTO_MPTCP), sequence)
}

/// `protocol`: one that does not fit into the fixed part.
fn request(
    sockets: Sockets,
    ipv6: bool,
    states: &[u8],
    protocol: Option<u32>,
    sequence: u32,
) -> Vec<u8> {
    let states = states.iter().fold(0u32, |all, state| all | 1 << state);
    let extensions = 1u8 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1);
    // struct inet_diag_req_v2: the identity is left at zero.
    let mut request = [0; 56];
    request[0] = if ipv6 { AF_INET6 } else { AF_INET };
    request[1] = IPPROTO_TCP;
    request[2] = extensions;
    request[4..8].copy_from_slice(&states.to_ne_bytes());
    let (operation, port) = match sockets {
        Sockets::To(port) => (INET_DIAG_BC_D_EQ, port),
        Sockets::At(port) => (INET_DIAG_BC_S_EQ, port),
    };
    // A comparison with its operand, 4 bytes each: on a match, the program continues at the end of
    // both; else past it, which rejects.
    let mut filter = [operation, 8, 0, 0, 0, 0, 0, 0];
    filter[2..4].copy_from_slice(&12u16.to_ne_bytes());
    filter[6..8].copy_from_slice(&port.to_ne_bytes());
    Encoder::single(
        SOCK_DIAG_BY_FAMILY,
        NLM_F_REQUEST | NLM_F_DUMP,
        sequence,
        |e| {
            e.fixed(&request);
            e.attribute(INET_DIAG_REQ_BYTECODE, &filter);
            if let Some(protocol) = protocol {
                e.attribute(INET_DIAG_REQ_PROTOCOL, &protocol.to_ne_bytes());
            }
        },
    )
}

#[cfg(test)]
mod tests;
