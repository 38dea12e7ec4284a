//! Columns of both lists: their contents, their sort order, and selection by width.

use std::cmp::Ordering;

use answers::{Conversation, Device, Rate};

use crate::commands::conversations::{remote, station};
use crate::commands::devices::{display_name, in_the_lan};
use runtime::output::sanitize;

/// Layout of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnLayout {
    pub(super) title: &'static str,
    /// Width that it takes at least.
    least: u16,
    /// Maximum width, if there is room to spare.
    most: u16,
    /// Numbers keep to the right.
    pub(super) right: bool,
}

/// A column of a list.
pub(super) trait Column: Copy + PartialEq + 'static {
    /// Type of a row.
    type Row;
    /// All columns, from left to right.
    const ALL: &'static [Self];
    /// The columns by importance, the most important first.
    const RANKS: &'static [Self];
    /// Sortable columns, in the order of the digits' keys.
    const SORTS: &'static [Self];
    /// Returns the layout of the column.
    fn layout(self) -> ColumnLayout;
    /// Compares two rows: the lesser row comes first.
    fn order(self, a: &Self::Row, b: &Self::Row) -> Ordering;

    /// Returns the columns that fit, from left to right, and their widths, without a column that is
    /// equal in each row. A column of space separates two columns.
    fn fitting(width: u16, without: Option<Self>) -> Vec<(Self, u16)> {
        let mut left = width;
        let mut chosen: Vec<(Self, u16)> = Vec::new();
        for column in Self::RANKS
            .iter()
            .filter(|column| Some(**column) != without)
        {
            let gap = u16::from(!chosen.is_empty());
            let Some(rest) = left.checked_sub(column.layout().least + gap) else {
                break;
            };
            left = rest;
            chosen.push((*column, column.layout().least));
        }
        for (column, own) in &mut chosen {
            let more = (column.layout().most - *own).min(left);
            *own += more;
            left -= more;
        }
        let place = |column: Self| Self::ALL.iter().position(|one| *one == column);
        chosen.sort_by_key(|(column, _)| place(*column));
        chosen
    }
}

/// Columns of the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceColumn {
    Name,
    Down,
    Up,
    Minute,
    Conversations,
    Received,
    Sent,
    InLan,
    Lan,
    Wan,
    Note,
    Address,
    Port,
    Mac,
}

impl Column for DeviceColumn {
    type Row = Device;
    const ALL: &'static [Self] = &[
        Self::Name,
        Self::Address,
        Self::Mac,
        Self::Port,
        Self::Down,
        Self::Up,
        Self::Minute,
        Self::Received,
        Self::Sent,
        Self::InLan,
        Self::Conversations,
        Self::Lan,
        Self::Wan,
        Self::Note,
    ];
    const RANKS: &'static [Self] = &[
        Self::Name,
        Self::Down,
        Self::Up,
        Self::Minute,
        Self::Conversations,
        Self::Received,
        Self::Sent,
        Self::Note,
        Self::Lan,
        Self::Wan,
        Self::InLan,
        Self::Address,
        Self::Port,
        Self::Mac,
    ];
    const SORTS: &'static [Self] = &[
        Self::Name,
        Self::Down,
        Self::Up,
        Self::Received,
        Self::Sent,
        Self::Conversations,
        Self::Lan,
        Self::Wan,
    ];

    fn layout(self) -> ColumnLayout {
        let (title, least, most, right) = match self {
            Self::Name => ("DEVICE", 14, 20, false),
            Self::Down => ("DOWN b/s", 8, 8, true),
            Self::Up => ("UP b/s", 8, 8, true),
            Self::Minute => ("LAST MINUTE", 15, 30, false),
            Self::Conversations => ("CONVS", 6, 6, true),
            Self::Received => ("RECEIVED", 10, 10, true),
            Self::Sent => ("SENT", 10, 10, true),
            Self::InLan => ("IN LAN", 10, 10, true),
            Self::Lan => ("LAN ms", 7, 7, true),
            Self::Wan => ("WAN ms", 7, 7, true),
            Self::Note => ("NOTE", 18, 30, false),
            Self::Address => ("ADDRESS", 15, 20, false),
            Self::Port => ("PORT", 8, 12, false),
            Self::Mac => ("MAC", 17, 17, false),
        };
        ColumnLayout {
            title,
            least,
            most,
            right,
        }
    }

    fn order(self, a: &Device, b: &Device) -> Ordering {
        let rate = |rate: Rate| rate.received.saturating_add(rate.sent);
        let wait = |device: &Device| device.latency.clone().unwrap_or_default();
        let first = match self {
            Self::Name | Self::Note | Self::Address | Self::Port | Self::Mac => {
                let name = |device| sanitize(display_name(device)).to_lowercase();
                name(a).cmp(&name(b))
            }
            Self::Down => b.rate.received.cmp(&a.rate.received),
            Self::Up => b.rate.sent.cmp(&a.rate.sent),
            Self::Minute => rate(b.rate).cmp(&rate(a.rate)),
            Self::Conversations => b.conversations.cmp(&a.conversations),
            Self::Received => b.received.bytes.cmp(&a.received.bytes),
            Self::Sent => b.sent.bytes.cmp(&a.sent.bytes),
            Self::InLan => in_the_lan(b).cmp(&in_the_lan(a)),
            Self::Lan => longest(wait(a).lan, wait(b).lan),
            Self::Wan => longest(wait(a).wan, wait(b).wan),
        };
        first.then_with(|| a.mac.cmp(&b.mac))
    }
}

/// Sorts by length, longest first; unknown values last.
fn longest(a: Option<f64>, b: Option<f64>) -> Ordering {
    b.unwrap_or(-1.0).total_cmp(&a.unwrap_or(-1.0))
}

/// Columns of the conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConversationColumn {
    Remote,
    Device,
    Down,
    Up,
    Received,
    Sent,
    Application,
    Protocol,
    Lan,
    Wan,
    Hook,
    Uplink,
    Station,
}

impl Column for ConversationColumn {
    type Row = Conversation;
    const ALL: &'static [Self] = &[
        Self::Device,
        Self::Station,
        Self::Protocol,
        Self::Remote,
        Self::Application,
        Self::Down,
        Self::Up,
        Self::Received,
        Self::Sent,
        Self::Lan,
        Self::Wan,
        Self::Uplink,
        Self::Hook,
    ];
    const RANKS: &'static [Self] = &[
        Self::Remote,
        Self::Down,
        Self::Up,
        Self::Device,
        Self::Received,
        Self::Sent,
        Self::Application,
        Self::Wan,
        Self::Protocol,
        Self::Hook,
        Self::Lan,
        Self::Uplink,
        Self::Station,
    ];
    const SORTS: &'static [Self] = &[
        Self::Remote,
        Self::Down,
        Self::Up,
        Self::Received,
        Self::Sent,
        Self::Device,
        Self::Lan,
        Self::Wan,
    ];

    fn layout(self) -> ColumnLayout {
        let (title, least, most, right) = match self {
            Self::Remote => ("FAR END", 24, 48, false),
            Self::Device => ("DEVICE", 12, 20, false),
            Self::Down => ("DOWN b/s", 8, 8, true),
            Self::Up => ("UP b/s", 8, 8, true),
            Self::Received => ("RECEIVED", 10, 10, true),
            Self::Sent => ("SENT", 10, 10, true),
            Self::Application => ("FOR", 8, 10, false),
            Self::Protocol => ("PROTO", 5, 5, false),
            Self::Lan => ("LAN ms", 7, 7, true),
            Self::Wan => ("WAN ms", 7, 7, true),
            Self::Hook => ("HOOK", 4, 4, false),
            Self::Uplink => ("UPLINK", 8, 12, false),
            Self::Station => ("ADDRESS", 21, 30, false),
        };
        ColumnLayout {
            title,
            least,
            most,
            right,
        }
    }

    fn order(self, a: &Conversation, b: &Conversation) -> Ordering {
        let wait = |conversation: &Conversation| conversation.latency.clone().unwrap_or_default();
        let text =
            |of: &dyn Fn(&Conversation) -> String| of(a).to_lowercase().cmp(&of(b).to_lowercase());
        let first = match self {
            Self::Remote | Self::Application | Self::Protocol | Self::Hook | Self::Uplink => {
                text(&|conversation| remote(conversation, usize::MAX))
            }
            Self::Device | Self::Station => text(&|conversation| sanitize(station(conversation))),
            Self::Down => b.rate.received.cmp(&a.rate.received),
            Self::Up => b.rate.sent.cmp(&a.rate.sent),
            Self::Received => b.received.bytes.cmp(&a.received.bytes),
            Self::Sent => b.sent.bytes.cmp(&a.sent.bytes),
            Self::Lan => longest(wait(a).lan, wait(b).lan),
            Self::Wan => longest(wait(a).wan, wait(b).wan),
        };
        first.then_with(|| a.id.cmp(&b.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<C: Column + std::fmt::Debug>() {
        assert_eq!(C::ALL.len(), C::RANKS.len());
        assert!(C::ALL.iter().all(|column| C::RANKS.contains(column)));
        for width in 0..300 {
            let columns = C::fitting(width, None);
            let taken: u16 = columns.iter().map(|(_, own)| own + 1).sum();
            assert!(taken <= width + 1, "{width}: {columns:?}");
            for (column, own) in columns {
                let look = column.layout();
                assert!(
                    (look.least..=look.most).contains(&own) && look.title.len() <= usize::from(own)
                );
            }
        }
        assert_eq!(C::fitting(u16::MAX, None).len(), C::ALL.len());
        assert_eq!(
            C::fitting(u16::MAX, Some(C::ALL[0])).len(),
            C::ALL.len() - 1
        );
    }

    #[test]
    fn columns_never_take_more_than_there_is() {
        check::<DeviceColumn>();
        check::<ConversationColumn>();
        let titles = |width| {
            DeviceColumn::fitting(width, None)
                .iter()
                .map(|(column, _)| column.layout().title)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            titles(58),
            ["DEVICE", "DOWN b/s", "UP b/s", "LAST MINUTE", "CONVS"]
        );
        assert_eq!(
            titles(78),
            [
                "DEVICE",
                "DOWN b/s",
                "UP b/s",
                "LAST MINUTE",
                "RECEIVED",
                "SENT",
                "CONVS"
            ]
        );
        assert!(titles(10).is_empty());
    }
}
