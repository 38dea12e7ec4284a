//! The portal: vouchers, and who is let in.

mod figures;
mod page;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use figures::{PortalDay, PortalFigures};
pub use page::{NewPicture, NewText, PortalPage, PortalPicture, Preview, PreviewNumber};

/// `GET /v1/portal/clients`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalClients {
    /// All devices behind the portal, by hardware address.
    pub clients: Vec<PortalClient>,
    /// Which hours it is.
    #[serde(default)]
    pub hours: PortalHours,
}

/// Which hours of the portal it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalHours {
    /// Who gets in.
    pub mode: PortalMode,
    /// Seconds until that changes; none: it does not.
    pub seconds: Option<u64>,
}

/// Who gets in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortalMode {
    /// Those with vouchers.
    #[default]
    Vouchers,
    /// Nobody but who needs no voucher.
    Closed,
    /// Everybody.
    Open,
}

/// A device behind the portal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalClient {
    /// Its hardware address.
    pub mac: String,
    /// Its addresses, as far as they are known.
    pub addresses: Vec<IpAddr>,
    /// What it may.
    pub state: PortalState,
    /// Id of its voucher, if it has one.
    pub voucher: Option<String>,
    /// What his account is called who has it, if he came by that.
    #[serde(default)]
    pub account: Option<String>,
    /// Ids of those that begin one after the other when that is over.
    #[serde(default)]
    pub next: Vec<String>,
    /// Seconds that are left to it, of all its vouchers; none: its time has no end, or has not begun.
    pub seconds_remaining: Option<u64>,
    /// Bytes that are left to it, of all its vouchers; none: as many as it likes.
    pub bytes_remaining: Option<u64>,
    /// When another browser than the one that was let in came with its hardware address, seconds
    /// since 1970: two devices may have it.
    #[serde(default)]
    pub other_browser: Option<u64>,
}

/// What a device may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortalState {
    /// Nothing but log in.
    Waiting,
    /// It is let in, by a voucher or an account.
    Admitted,
    /// It is let in without one, for a while.
    Free,
    /// It is let in without one, for ever.
    Exempt,
}

/// `GET /v1/portal/vouchers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalVouchers {
    /// All vouchers, the oldest first.
    pub vouchers: Vec<PortalVoucher>,
}

/// A voucher. Times of day are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalVoucher {
    /// Names it in commands.
    pub id: String,
    /// What is typed by who uses it.
    pub code: String,
    /// The code that another portal sold it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// What it is called.
    pub name: String,
    /// "available", "active", "expired" or "invalidated".
    pub state: String,
    /// Seconds that it is good for; none: for ever.
    pub duration: Option<u64>,
    /// Seconds that are left of them, once it was used.
    pub seconds_remaining: Option<u64>,
    /// Bytes that it is good for; none: as many as its time allows.
    pub bytes: Option<u64>,
    /// Bytes that are left of them, once it was used.
    pub bytes_remaining: Option<u64>,
    /// Bits a second that each device may send, and get; none: as many as there are.
    #[serde(default)]
    pub rate: Option<u64>,
    /// Its time goes by only while one of its devices is on-line.
    #[serde(default)]
    pub online: bool,
    /// Devices that may use it at once.
    pub devices: u32,
    /// It can be used for the first time until then.
    pub until: Option<u64>,
    /// When it was made.
    pub created: u64,
    /// When it was used first.
    pub activated: Option<u64>,
    /// When it was called back.
    pub invalidated: Option<u64>,
    /// Hardware addresses of the devices that use it.
    pub users: Vec<String>,
    /// The node that sold it; none: this one.
    #[serde(default)]
    pub sold_by: Option<String>,
    /// How it was used by more than it was sold for, if so.
    #[serde(default)]
    pub double_use: Option<DoubleUse>,
    /// What any node can check alone: 168 letters and digits. Only where one voucher is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<String>,
    /// Leads to the page with the code in it. Only where one voucher is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qr: Option<QrPicture>,
}

/// A QR code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QrPicture {
    /// Modules on each side, with the quiet zone.
    pub side: usize,
    /// The dark ones, each 1 by 1, as a path of SVG.
    pub path: String,
}

/// How a voucher was used twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubleUse {
    /// "again": a node let a device in when its time was over at the other; "together": both let in
    /// more devices at once than it is for.
    pub how: String,
    /// The two nodes.
    pub nodes: [String; 2],
}

/// What `POST /v1/portal/import` takes: vouchers of Pirania's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormerVouchers {
    /// Each the text of its file.
    pub pirania: Vec<String>,
}

impl api::Body for FormerVouchers {
    const EXPECTED: &'static str = "a JSON object with `pirania`: a list of texts";
}

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Those that are new here.
    pub vouchers: Vec<PortalVoucher>,
    /// How many were known.
    pub known: u64,
    /// Those that were not taken: which of the list, from 0, and why.
    pub refused: Vec<(usize, String)>,
    /// Properties that vouchers lost on the way: which of the list, from 0, and what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<(usize, String)>,
}

/// `GET /v1/portal/key`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalKey {
    /// The node's public key.
    pub key: String,
}

/// `GET /v1/portal/notes`, and what `POST /v1/portal/notes` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortalNotes {
    /// A signed line for each voucher and node.
    pub lines: Vec<String>,
}

impl api::Body for PortalNotes {
    const EXPECTED: &'static str = "a JSON object with `lines`";
}

/// What became of such lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesHeard {
    /// Lines that said something new.
    pub new: u64,
    /// Lines that said nothing new.
    pub known: u64,
    /// Why lines were not taken, each reason once.
    pub refused: Vec<String>,
    /// Ids of vouchers that were found to be used twice.
    pub double_use: Vec<String>,
}

/// What `POST /v1/portal/vouchers` takes: vouchers to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewVouchers {
    /// What they are called.
    pub name: String,
    /// Seconds that each is good for; none: for ever.
    pub duration: Option<u64>,
    /// Bytes that each is good for; none: as many as its time allows.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Bits a second that each device may send, and get; none: as many as there are.
    #[serde(default)]
    pub rate: Option<u64>,
    /// The time goes by only while one of its devices is on-line.
    #[serde(default)]
    pub online: bool,
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Devices that may use each at once.
    #[serde(default = "one")]
    pub devices: u32,
    /// Each can be used for the first time until then, seconds since 1970.
    #[serde(default)]
    pub until: Option<u64>,
}

fn one() -> u32 {
    1
}

impl api::Body for NewVouchers {
    const EXPECTED: &'static str =
        "a JSON object with `name`, and `duration` in seconds or null for ever";
}

/// What `POST /v1/portal/vouchers/{id}/rename` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoucherName {
    /// What it is called from now on.
    pub name: String,
}

impl api::Body for VoucherName {
    const EXPECTED: &'static str = "a JSON object with `name`";
}

/// What `POST /v1/portal/vouchers/{id}/activate` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoucherDevice {
    /// Hardware address of the device that is let in.
    pub mac: String,
}

impl api::Body for VoucherDevice {
    const EXPECTED: &'static str = "a JSON object with `mac`";
}
