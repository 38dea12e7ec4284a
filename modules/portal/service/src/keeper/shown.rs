//! Vouchers and devices, as the API has them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use answers::{
    DoubleUse, PortalClient, PortalHours, PortalMode, PortalState, PortalVoucher, QrPicture,
};
use kernel::{Mac, Neighbour};
use net::mac::text as mac_text;
use portal_core::Millis;
use portal_core::notes::How;
use portal_core::schedule::Mode;
use portal_core::signed::Signed;
use portal_core::voucher::{Origin, State, Voucher};

use super::super::sheet::link;
use super::{Keeper, seconds};
use runtime::daemon::Router;
use runtime::output::qr;

impl Keeper {
    /// All vouchers, as the API has them.
    pub fn vouchers(&self) -> Vec<PortalVoucher> {
        let (now, wall) = self.when();
        let mut all: Vec<_> = self
            .guests
            .vouchers(now)
            .map(|(v, used)| self.shown(v, used, wall))
            .collect();
        all.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        all
    }

    /// One of them.
    pub fn voucher(&self, id: &str) -> Option<PortalVoucher> {
        let (now, wall) = self.when();
        let (voucher, used) = self.guests.voucher(id, now)?;
        Some(self.shown(voucher, used, wall))
    }

    /// One of them, with all that takes a while to make.
    pub fn whole(&self, id: &str) -> Option<PortalVoucher> {
        let (voucher, _) = self.guests.voucher(id, self.now())?;
        let signed = voucher.signed;
        let signed = signed.or_else(|| Signed::of(voucher, &self.node.key));
        let qr = qr::path(&link(&voucher.code.to_string()));
        Some(PortalVoucher {
            qr: qr.map(|(side, path)| QrPicture { side, path }),
            signed: signed.map(|signed| signed.to_string()),
            ..self.voucher(id)?
        })
    }

    /// The device that has an address, as the API has it.
    pub fn client_at(&self, address: IpAddr, router: &Router) -> Option<PortalClient> {
        let mac = self.device(address, router)?;
        Some(self.client(mac, vec![address]))
    }

    /// Which hours it is.
    pub fn hours(&self) -> PortalHours {
        PortalHours {
            mode: match self.hours.mode {
                Mode::Vouchers => PortalMode::Vouchers,
                Mode::Closed => PortalMode::Closed,
                Mode::Open => PortalMode::Open,
            },
            seconds: self.hours.lasts().map(seconds),
        }
    }

    /// All devices behind the portal.
    pub fn clients(&self, router: &Router) -> Vec<PortalClient> {
        let here = self.links(router);
        let mut all = BTreeMap::<Mac, Vec<IpAddr>>::new();
        for (mac, guest) in self.guests.guests() {
            all.insert(*mac, guest.addresses.iter().copied().collect());
        }
        let guests = |n: &Neighbour| here.contains(&n.link) && !n.address.is_multicast();
        for neighbour in router.core.neighbours().filter(guests) {
            let Some(mac) = neighbour.mac else { continue };
            let addresses = all.entry(mac).or_default();
            if !addresses.contains(&neighbour.address) {
                addresses.push(neighbour.address);
            }
        }
        all.into_iter()
            .map(|(mac, addresses)| self.client(mac, addresses))
            .collect()
    }

    fn client(&self, mac: Mac, mut addresses: Vec<IpAddr>) -> PortalClient {
        addresses.sort();
        let now = self.now();
        let guest = self.guests.guest(&mac);
        let voucher = guest.and_then(|guest| guest.voucher.clone());
        let (left, bytes_remaining) = self.guests.remaining(&mac, now);
        let current = voucher.as_ref().and_then(|id| self.guests.voucher(id, now));
        let origin = current.map_or(Origin::Sold, |(voucher, _)| voucher.origin);
        let next = guest.into_iter().flat_map(|guest| &guest.next);
        let sold = |id: &&String| {
            let voucher = self.guests.voucher(id, now);
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
            account: self.guests.account(&mac).map(str::to_owned),
            next: next.filter(sold).cloned().collect(),
            seconds_remaining: left.map(|left| left.div_ceil(1000)),
            bytes_remaining,
            other_browser: guest.and(self.others.get(&mac).copied()),
        }
    }

    fn shown(&self, voucher: &Voucher, used: Millis, wall: u64) -> PortalVoucher {
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
                State::Invalidated => "invalidated",
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
            invalidated: voucher.invalidated,
            users: voucher
                .users
                .iter()
                .map(|user| mac_text(&user.mac))
                .collect(),
            sold_by: voucher.signed.map(|signed| self.node.seller(&signed)),
            double_use: voucher.double.map(|double| DoubleUse {
                how: match double.how {
                    How::Again => "again",
                    How::Together => "together",
                }
                .to_owned(),
                nodes: double.nodes.map(|node| self.node.name(&node)),
            }),
            signed: None,
            qr: None,
        }
    }
}
