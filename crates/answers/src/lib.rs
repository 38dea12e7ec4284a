//! Types of weir's requests and answers, shared by the daemon, the command line, the laboratory and
//! the tests. Each module has a file or a folder, and so has the daemon itself.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/status` | [`Status`] |
//! | `GET /v1/conditions` | [`Conditions`]: everything that needs attention now |
//! | `GET /v1/flows?…` | [`FlowList`], filtered by [`FlowFilter`] |
//! | `GET /v1/hops` | `[`[`Hop`]`]` |
//! | `GET /v1/ports` | `[`[`Port`]`]` |
//! | `GET /v1/explain?flow=…` | [`Explanation`] of a [`FlowQuery`] |
//! | `GET /v1/drops` | [`Drops`] |
//! | `GET /v1/devices` | [`Devices`]: devices on the network |
//! | `POST /v1/devices/{mac}/label` | [`LabelledDevice`], of a [`DeviceLabel`] |
//! | `GET /v1/conversations?…` | [`Conversations`]: conversations, of a [`ConversationsQuery`] |
//! | `GET /v1/probes` | [`Probes`]: records of the network stack |
//! | `GET /v1/history?…` | [`History`] of a [`HistoryQuery`] |
//! | `GET /v1/paths` | [`Paths`]: uplinks that are used as one |
//! | `GET /v1/portal/clients` | [`PortalClients`]: devices behind the portal |
//! | `GET /v1/portal/vouchers` | [`PortalVouchers`] |
//! | `POST /v1/portal/vouchers` | created [`PortalVouchers`], of [`NewVouchers`] |
//! | `GET /v1/portal/vouchers/{id}` | [`PortalVoucher`] with its signed form and a QR code |
//! | `POST /v1/portal/vouchers/{id}/rename` | [`PortalVoucher`], of a [`VoucherName`] |
//! | `POST /v1/portal/vouchers/{id}/activate` | active [`PortalVoucher`], of a [`VoucherDevice`] |
//! | `POST /v1/portal/vouchers/{id}/invalidate` | revoked [`PortalVoucher`] |
//! | `POST /v1/portal/clients/{mac}/end` | [`PortalClients`]: the remaining devices |
//! | `POST /v1/portal/import` | [`Imported`], of [`FormerVouchers`] |
//! | `GET /v1/portal/page` | [`PortalPage`]: content of the guests' page |
//! | `POST /v1/portal/page/text` | [`PortalPage`], of a [`NewText`] |
//! | `POST /v1/portal/page/text/reset` | [`PortalPage`] as the configuration has it |
//! | `POST /v1/portal/page/picture` | [`PortalPage`], of a [`NewPicture`] |
//! | `POST /v1/portal/page/picture/remove` | [`PortalPage`] without a picture |
//! | `GET /v1/portal/page/picture` | the picture |
//! | `POST /v1/portal/page/preview` | [`PreviewNumber`], of a [`Preview`] |
//! | `GET /v1/portal/page/preview/{number}` | the guests' page with that, as HTML |
//! | `GET /v1/portal/sheet` | vouchers to be printed and cut, as HTML |
//! | `GET /v1/portal/figures` | [`PortalFigures`]: guests by day |
//! | `GET /v1/portal/key` | [`PortalKey`] |
//! | `GET /v1/portal/notes` | [`PortalNotes`] for other nodes |
//! | `POST /v1/portal/notes` | [`NotesHeard`], of [`PortalNotes`] of other nodes |
//! | `GET /v1/cables` | [`Cables`]: roles of ports |
//! | `GET /v1/cables/events?…` | [`CableEvents`], of a [`CableEventsQuery`] |
//! | `POST /v1/cables/{device}/set`, `…/auto` | [`Cable`], of a [`CableRole`], or detected again |
//! | `GET /v1/radio` | [`Radios`]: transmit power, and the throughput at stations |
//! | `GET /v1/radio/log` | [`RadioLog`]: power steps, of a [`RadioLogQuery`] |
//! | `GET /v1/radio/peers` | [`RadioPeers`]: access points that are peers |
//! | `/v1/setup…` | types of `setup_core::messages`, and [`SetupDetection`]: see `docs/how-to/setup.md` |
//! | `GET /v1/setup/pending` | waiting change, or null; only on the socket of `weir setup serve` |
//! | `GET /v1/page/claim` | [`PageClaim`]: the code for the first password |
//! | `POST /v1/capture?…` | pcapng, of a [`CaptureQuery`]; a [`CaptureSummary`] as a trailer |
//! | `POST /v1/capture/stop` | [`CaptureSummary`] of the capture that runs, which ends |
//! | `GET /v1/config` | [`Config`] |
//! | `POST /v1/reload` | [`Reloaded`] |
//!
//! Every type is one JSON object; field names are the interface and are only ever added to. An
//! error is an [`api::Problem`].
//!
//! Counters start at 0 with the daemon and only rise. *Packets* are IP packets on the fast path.
//! *Bytes* count from the IP header on, without padding; those of a [`Port`] are the device's.

mod cables;
pub mod capture;
mod conditions;
mod drops;
mod history;
pub mod monitor;
mod multipath;
pub mod offload;
mod page;
mod portal;
mod radio;
mod settings;
mod setup_detect;
mod status;

pub use cables::{
    Cable, CableEvent, CableEvents, CableEventsQuery, CableEvidence, CableRole, Cables,
};
pub use capture::{CaptureQuery, CaptureSide, CaptureSummary};
pub use conditions::{Condition, Conditions, Severity};
pub use drops::{
    DropCounts, DropPrefix, DropRoutes, DropSet, DropState, Drops, LearnedDrop, LearnedDrops,
};
pub use history::{History, HistoryBy, HistoryQuery, HistoryUnit, LanCount, Part, Period};
pub use monitor::{
    Conversation, ConversationSort, Conversations, ConversationsQuery, Count, Device, DeviceLabel,
    Devices, LabelledDevice, LanTraffic, Latency, MeteredPort, MonitorStatus, PortCounters, Probe,
    ProbeKind, ProbeRecord, Probes, QuotaState, Rate, Wifi,
};
pub use multipath::{
    Candidate, ConnectionCounts, Exposure, Forward, PartnerState, Path, PathUse, Paths,
    PathsStatus, Twin,
};
pub use offload::{
    AddressFilter, Direction, Directions, Endpoints, Explanation, ExpressionError, Flow,
    FlowFilter, FlowId, FlowList, FlowQuery, FlowState, Hook, Hop, Port, PortLimit, PortStack,
    PortUse, Protocol, Reason, Selection, Sort, StationPair, Traffic, Translation, TtlRange,
    Witness, WitnessName,
};
pub use page::PageClaim;
pub use portal::{
    DoubleUse, FormerVouchers, Imported, NewPicture, NewText, NewVouchers, NotesHeard,
    PortalClient, PortalClients, PortalDay, PortalFigures, PortalHours, PortalKey, PortalMode,
    PortalNotes, PortalPage, PortalPicture, PortalState, PortalVoucher, PortalVouchers, Preview,
    PreviewNumber, QrPicture, VoucherDevice, VoucherName,
};
pub use radio::{
    Radio, RadioLog, RadioLogQuery, RadioPeer, RadioPeers, RadioStation, RadioStep, RadioSteps,
    Radios,
};
pub use settings::{Config, ConfigChange, ConfigEntry, Reloaded};
pub use setup_detect::{
    SetupDetails, SetupDetection, SetupEvidence, SetupInternet, SetupLan, SetupPort,
    SetupSuggestion, SetupUplink,
};
pub use status::{
    FamilyFlows, FlowCounts, Heartbeat, HopCounts, Mode, PacketCounts, PartProblem, PerPacketRules,
    RuleCost, ShadowCounts, Status,
};
