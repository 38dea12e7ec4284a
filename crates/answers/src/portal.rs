//! The portal: vouchers and clients.

mod figures;
mod page;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use figures::{PortalDay, PortalFigures};
pub use page::{NewPicture, NewText, PortalPage, PortalPicture, Preview, PreviewNumber};

/// Answer to `GET /v1/portal/clients`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalClients {
    /// All devices behind the portal, by hardware address.
    pub clients: Vec<PortalClient>,
    /// Current mode of the portal.
    #[serde(default)]
    pub hours: PortalHours,
}

/// Current mode of the portal, and its duration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalHours {
    /// Access mode.
    pub mode: PortalMode,
    /// Seconds until the mode changes; none: it does not change.
    pub seconds: Option<u64>,
}

/// Access mode of the portal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortalMode {
    /// Guests with vouchers get access.
    #[default]
    Vouchers,
    /// Only devices that need no voucher get access.
    Closed,
    /// All devices get access.
    Open,
}

/// A device behind the portal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalClient {
    /// Hardware address of the device.
    pub mac: String,
    /// Known IP addresses of the device.
    pub addresses: Vec<IpAddr>,
    /// Access of the device.
    pub state: PortalState,
    /// Id of its voucher, if any.
    pub voucher: Option<String>,
    /// Name of the guest's account, if the guest logged in by account.
    #[serde(default)]
    pub account: Option<String>,
    /// Ids of the vouchers that follow when the current one is over.
    #[serde(default)]
    pub next: Vec<String>,
    /// Seconds left over all its vouchers; none: no time limit, or not begun.
    pub seconds_remaining: Option<u64>,
    /// Bytes left over all its vouchers; none: no limit.
    pub bytes_remaining: Option<u64>,
    /// Time when another browser came with the same hardware address, seconds since 1970: two
    /// devices may share it.
    #[serde(default)]
    pub other_browser: Option<u64>,
}

/// Access of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortalState {
    /// The device may only log in.
    Waiting,
    /// The device has access by a voucher or an account.
    Admitted,
    /// The device has access without a voucher, for a while.
    Free,
    /// The device has access without a voucher, permanently.
    Exempt,
}

/// Answer to `GET /v1/portal/vouchers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalVouchers {
    /// All vouchers, the oldest first.
    pub vouchers: Vec<PortalVoucher>,
}

/// A voucher. Times of day are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalVoucher {
    /// Id of the voucher in commands.
    pub id: String,
    /// Code that the guest types.
    pub code: String,
    /// Code of the voucher at the portal that sold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// Name of the voucher.
    pub name: String,
    /// "available", "active", "expired" or "revoked".
    pub state: String,
    /// Validity in seconds; none: unlimited.
    pub duration: Option<u64>,
    /// Seconds left, once the voucher was used.
    pub seconds_remaining: Option<u64>,
    /// Data allowance in bytes; none: limited only by time.
    pub bytes: Option<u64>,
    /// Bytes left, once the voucher was used.
    pub bytes_remaining: Option<u64>,
    /// Bits per second that each device may send, and receive; none: unlimited.
    #[serde(default)]
    pub rate: Option<u64>,
    /// True if time counts only while one of its devices is online.
    #[serde(default)]
    pub online: bool,
    /// Devices that may use the voucher at once.
    pub devices: u32,
    /// Latest time of the first use.
    pub until: Option<u64>,
    /// Time of creation.
    pub created: u64,
    /// Time of the first use.
    pub activated: Option<u64>,
    /// Time of revocation.
    pub revoked: Option<u64>,
    /// Hardware addresses of the devices that use the voucher.
    pub users: Vec<String>,
    /// The node that sold the voucher; none: this one.
    #[serde(default)]
    pub sold_by: Option<String>,
    /// Evidence of use beyond the sold limits, if any.
    #[serde(default)]
    pub double_use: Option<DoubleUse>,
    /// Signed form that any node can verify alone: 168 letters and digits. Only for one voucher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<String>,
    /// QR code that leads to the page with the code filled in. Only in the answer for one voucher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qr: Option<QrPicture>,
}

/// A QR code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QrPicture {
    /// Modules on each side, with the quiet zone.
    pub side: usize,
    /// The dark modules, each 1 by 1, as an SVG path.
    pub path: String,
}

/// Double use of a voucher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubleUse {
    /// "again": a node admitted a device after its time was over at the other; "together": both
    /// nodes together admitted more devices at once than the voucher allows.
    pub how: String,
    /// The two nodes.
    pub nodes: [String; 2],
}

/// Body of `POST /v1/portal/import`: vouchers of Pirania.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormerVouchers {
    /// Texts of the voucher files.
    pub pirania: Vec<String>,
}

impl api::Body for FormerVouchers {
    const EXPECTED: &'static str = "a JSON object with `pirania`: a list of texts";
}

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Newly imported vouchers.
    pub vouchers: Vec<PortalVoucher>,
    /// Number of vouchers that were known already.
    pub known: u64,
    /// Rejected vouchers: index in the list, from 0, and reason.
    pub refused: Vec<(usize, String)>,
    /// Properties that vouchers lost in the import: index in the list, from 0, and property.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<(usize, String)>,
}

/// Answer to `GET /v1/portal/key`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortalKey {
    /// The node's public key.
    pub key: String,
}

/// Answer to `GET /v1/portal/notes`, and body of `POST /v1/portal/notes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortalNotes {
    /// A signed line for each voucher and node.
    pub lines: Vec<String>,
}

impl api::Body for PortalNotes {
    const EXPECTED: &'static str = "a JSON object with `lines`";
}

/// Result of `POST /v1/portal/notes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesHeard {
    /// Lines with new notes.
    pub new: u64,
    /// Lines without new notes.
    pub known: u64,
    /// Reasons for rejected lines, each once.
    pub refused: Vec<String>,
    /// Ids of vouchers found to be used twice.
    pub double_use: Vec<String>,
}

/// Body of `POST /v1/portal/vouchers`: vouchers to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewVouchers {
    /// Name of the vouchers.
    pub name: String,
    /// Validity of each in seconds; none: unlimited.
    pub duration: Option<u64>,
    /// Data allowance of each in bytes; none: limited only by time.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Bits per second that each device may send, and receive; none: unlimited.
    #[serde(default)]
    pub rate: Option<u64>,
    /// True if time counts only while one of the devices is online.
    #[serde(default)]
    pub online: bool,
    /// Number of vouchers to create.
    #[serde(default = "one")]
    pub count: u32,
    /// Devices that may use each voucher at once.
    #[serde(default = "one")]
    pub devices: u32,
    /// Latest time of the first use of each, seconds since 1970.
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

/// Body of `POST /v1/portal/vouchers/{id}/rename`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoucherName {
    /// New name of the voucher.
    pub name: String,
}

impl api::Body for VoucherName {
    const EXPECTED: &'static str = "a JSON object with `name`";
}

/// Body of `POST /v1/portal/vouchers/{id}/activate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoucherDevice {
    /// Hardware address of the device to admit.
    pub mac: String,
}

impl api::Body for VoucherDevice {
    const EXPECTED: &'static str = "a JSON object with `mac`";
}
