//! Details of a device or a conversation, and help on the keys.

use answers::{Conversation, Latency, Wifi};
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::pen::Pen;
use crate::commands::conversations::{protocol, socket, station};
use crate::commands::devices::{display_name, in_the_lan, note};
use crate::top::state::{State, View};
use runtime::output::{Tone, units, width};

/// Draws the device whose conversations are listed. Returns the number of rows used.
pub(super) fn device(state: &State, area: Rect, top: u16, pen: &mut Pen<'_>) -> u16 {
    let View::Conversations(Some(mac)) = &state.view else {
        let place = Rect::new(area.x, top, area.width, 1);
        let bold = pen.tone(Tone::Bold);
        let total = state
            .conversations
            .as_ref()
            .map(|conversations| units::count(conversations.total));
        let total = total
            .map(|total| format!(", {total} of them"))
            .unwrap_or_default();
        pen.line(
            place,
            0,
            &format!("Conversations of all devices{total}"),
            bold,
        );
        return 1;
    };
    let place = Rect::new(area.x, top, area.width, 2);
    let bold = pen.tone(Tone::Bold);
    let Some(device) = state.shown_device() else {
        pen.line(
            place,
            0,
            &format!("Conversations of {mac}, which is no longer known"),
            bold,
        );
        return 1;
    };
    let mut first = display_name(device).to_owned();
    let mut words = device.addresses.iter().take(2).cloned().collect::<Vec<_>>();
    words.extend([device.mac.clone(), format!("at {}", device.port)]);
    words.retain(|word| *word != first);
    first.push_str(&format!("  {}", words.join("  ")));
    pen.line(place, 0, &first, bold);

    let now = state.devices.as_ref().map_or(0, |answer| answer.now);
    let (note, tone) = note(device, now);
    let mut facts = vec![
        format!("received {}", units::bytes(device.received.bytes)),
        format!("sent {}", units::bytes(device.sent.bytes)),
    ];
    let inside = in_the_lan(device);
    if inside > 0 {
        facts.push(format!("in the LAN {}", units::bytes(inside)));
    }
    facts.extend(device.latency.as_ref().and_then(waits));
    let radio = device.wifi.as_ref().and_then(radio);
    let facts = facts.into_iter().map(|fact| (fact, Tone::Plain));
    let note = (!note.is_empty()).then_some((note, tone));
    let mut rest = Rect::new(area.x, top + 1, area.width, 1);
    for (text, tone) in facts
        .chain(note)
        .chain(radio.map(|radio| (radio, Tone::Plain)))
    {
        // The first item is always shown, later ones only if they fit.
        if rest.x > area.x && width(&text) > usize::from(rest.width) {
            break;
        }
        let style = pen.tone(tone);
        pen.line(rest, 0, &text, style);
        let taken = u16::try_from(width(&text) + 2)
            .unwrap_or(u16::MAX)
            .min(rest.width);
        rest = Rect::new(rest.x + taken, rest.y, rest.width - taken, 1);
    }
    2
}

/// Returns a text such as `waits 2.1 ms for it, 24 ms beyond`.
fn waits(latency: &Latency) -> Option<String> {
    let lan = latency
        .lan
        .map(|time| format!("{} ms to it", units::milliseconds(time)));
    let wan = latency
        .wan
        .map(|time| format!("{} ms beyond", units::milliseconds(time)));
    let both: Vec<String> = lan.into_iter().chain(wan).collect();
    (!both.is_empty()).then(|| format!("round trip {}", both.join(", ")))
}

fn radio(wifi: &Wifi) -> Option<String> {
    wifi.rate_to
        .map(|rate| format!("Wi-Fi {}", units::rate(rate)))
}

/// Draws all details of a conversation.
pub(super) fn conversation(
    state: &State,
    conversation: &Conversation,
    area: Rect,
    pen: &mut Pen<'_>,
) {
    let now = state
        .devices
        .as_ref()
        .map_or(conversation.last_seen, |answer| answer.now);
    let ago = |when: u64| format!("{} ago", units::duration(now.saturating_sub(when)));
    let place = match conversation.vlan {
        Some(vlan) => format!("{}, VLAN {vlan}", conversation.port),
        None => conversation.port.clone(),
    };
    let by = match conversation.hook {
        Some(hook) => format!("weir, by {}", hook.to_string().to_uppercase()),
        None => "the kernel".to_owned(),
    };
    let way = |rate: u64, count: answers::Count| {
        format!(
            "{}  {}  {} packets",
            units::rate(rate),
            units::bytes(count.bytes),
            units::count(count.packets)
        )
    };
    let latency = conversation.latency.clone().unwrap_or_default();
    let again = conversation
        .latency
        .as_ref()
        .map(|latency| units::count(latency.retransmissions));
    let fields = [
        (
            "device",
            Some(format!(
                "{}  {}  at {place}",
                station(conversation),
                conversation.mac
            )),
        ),
        ("protocol", Some(protocol(conversation))),
        ("used for", conversation.application.clone()),
        (
            "near end",
            Some(socket(&conversation.station, conversation.station_port)),
        ),
        ("leaves as", conversation.translated.clone()),
        ("uplink", conversation.uplink.clone()),
        (
            "far end",
            Some(socket(&conversation.remote, conversation.remote_port)),
        ),
        ("its name", conversation.remote_name.clone()),
        (
            "down",
            Some(way(conversation.rate.received, conversation.received)),
        ),
        ("up", Some(way(conversation.rate.sent, conversation.sent))),
        ("forwarded by", Some(by)),
        ("began", Some(ago(conversation.first_seen))),
        ("last seen", Some(ago(conversation.last_seen))),
        ("waits", waits(&latency)),
        (
            "sent again",
            again.map(|number| format!("{number} segments")),
        ),
    ];
    let told = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    for (row, (name, value)) in (0..).zip(told) {
        let dim = pen.tone(Tone::Dim);
        pen.line(area, row, &format!("  {name}"), dim);
        let values = Rect::new(
            area.x + 16,
            area.y,
            area.width.saturating_sub(16),
            area.height,
        );
        pen.line(values, row, &value, Style::new());
    }
}

const KEYS: &[(&str, &str)] = &[
    ("Up Down PgUp PgDn Home End", "choose a row (also j k g G)"),
    ("Enter, Right", "open it: conversations, or all of one"),
    ("Esc, Left", "back"),
    ("c, Tab", "show conversations of all devices, and back"),
    ("/", "show only rows that contain a text"),
    ("s S", "sort by the next column, by the previous one"),
    ("1 2 3", "sort by name, down, up; again: reverse"),
    (
        "4 5 6 7 8",
        "sort by received, sent, flows or device, LAN, WAN",
    ),
    ("r", "reverse the order"),
    ("u", "show uplinks among the devices"),
    ("p, space", "pause"),
    ("q, Ctrl-C", "quit"),
];

const MEANINGS: &[&str] = &[
    "",
    "DOWN, RECEIVED: to the device. UP, SENT: from it. Rates are bits a second.",
    "LAN and WAN: TCP delay to the device, and to the far end.",
    "HOOK: where weir forwards; -: the kernel forwards.",
];

/// Draws the keys, and the meaning of the columns.
pub(super) fn help(area: Rect, pen: &mut Pen<'_>) {
    let bold = pen.tone(Tone::Bold);
    let column = if area.width < 70 { 20 } else { 28 };
    for (row, (key, meaning)) in (0..).zip(KEYS) {
        pen.line(
            Rect {
                width: column,
                ..area
            },
            row,
            key,
            bold,
        );
        let rest = Rect::new(
            area.x + column + 1,
            area.y,
            area.width.saturating_sub(column + 1),
            area.height,
        );
        pen.line(rest, row, meaning, Style::new());
    }
    let below = (u16::try_from(KEYS.len()).unwrap_or(0)..).zip(MEANINGS);
    for (row, text) in below {
        pen.line(area, row, text, Style::new());
    }
}
