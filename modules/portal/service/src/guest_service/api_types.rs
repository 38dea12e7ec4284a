//! Vouchers and devices, as the API has them.

use std::net::IpAddr;

use answers::{DoubleUse, PortalClient, PortalState, PortalVoucher};
use api::Problem;
use kernel::Mac;
use net::mac::text as mac_text;
use portal_core::Millis;
use portal_core::guests::Guests;
use portal_core::voucher::{DoubleUseKind, Origin, State, Voucher};

use super::node::Node;

/// Converts a device behind the portal. `other_browser`: time at which another browser than its own
/// was seen.
pub fn client(
    guests: &Guests,
    (mac, mut addresses): (Mac, Vec<IpAddr>),
    other_browser: Option<u64>,
    now: Millis,
) -> PortalClient {
    addresses.sort();
    let guest = guests.guest(&mac);
    let voucher = guest.and_then(|guest| guest.voucher.clone());
    let (left, bytes_remaining) = guests.remaining(&mac, now);
    let current = voucher.as_ref().and_then(|id| guests.voucher(id, now));
    let origin = current.map_or(Origin::Sold, |(voucher, _)| voucher.origin);
    let next = guest.into_iter().flat_map(|guest| &guest.next);
    let sold = |id: &&String| {
        let voucher = guests.voucher(id, now);
        voucher.is_some_and(|(voucher, _)| voucher.origin.is_sold())
    };
    PortalClient {
        mac: mac_text(&mac),
        addresses,
        state: match (guest, &voucher) {
            (None, _) => PortalState::Waiting,
            (Some(_), Some(_)) if origin == Origin::Free => PortalState::Free,
            (Some(_), Some(_)) => PortalState::Admitted,
            (Some(_), None) => PortalState::Exempt,
        },
        voucher: voucher.filter(|_| origin.is_sold()),
        account: guests.account(&mac).map(str::to_owned),
        next: next.filter(sold).cloned().collect(),
        seconds_remaining: left.map(|left| left.div_ceil(1000)),
        bytes_remaining,
        other_browser: guest.and(other_browser),
    }
}

/// Converts a voucher with its used time.
pub fn voucher(voucher: &Voucher, used: Millis, wall: u64, node: &Node) -> PortalVoucher {
    let state = voucher.state(used, wall);
    PortalVoucher {
        id: voucher.id.clone(),
        code: voucher.code.to_string(),
        former: voucher.former.as_ref().map(ToString::to_string),
        name: voucher.name.clone(),
        state: match state {
            State::Available => "available",
            State::Active => "active",
            State::Expired => "expired",
            State::Revoked => "revoked",
        }
        .to_owned(),
        duration: voucher.duration,
        seconds_remaining: (state == State::Active)
            .then(|| voucher.left(used))
            .flatten()
            .map(|left| left.div_ceil(1000)),
        bytes: voucher.bytes,
        bytes_remaining: voucher.activated.and_then(|_| voucher.bytes_left()),
        rate: voucher.rate,
        online: voucher.online,
        devices: voucher.devices,
        until: voucher.until,
        created: voucher.created,
        activated: voucher.activated,
        revoked: voucher.revoked,
        users: voucher
            .users
            .iter()
            .map(|user| mac_text(&user.mac))
            .collect(),
        sold_by: voucher.signed.map(|signed| node.seller(&signed)),
        double_use: voucher.double.map(|double| DoubleUse {
            how: match double.how {
                DoubleUseKind::Again => "again",
                DoubleUseKind::Together => "together",
            }
            .to_owned(),
            nodes: double.nodes.map(|one| node.name(&one)),
        }),
        signed: None,
        qr: None,
    }
}

/// Returns the error for an unknown voucher.
pub fn no_voucher(id: &str) -> Problem {
    let detail = format!("no voucher {}", api::problem::clipped(id));
    let hint = "see `weir portal voucher list`";
    Problem::new(404, "no_voucher", detail, hint)
}
