//! Draws the state into a buffer: the only file that knows where things are on the screen.

mod detail;
mod footer;
mod pen;

use std::time::Duration;

use answers::{Conversation, Device};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::chart::{self, Fold};
use super::columns::{Column, ConversationColumn, DeviceColumn};
use super::rows::ListPosition;
use super::samples::{Minute, Sample, everything};
use super::state::{State, View};
use crate::commands::conversations::{protocol, remote, socket, station};
use crate::commands::devices::{display_name, in_the_lan, note};
use pen::Pen;
use runtime::output::{Charset, Tone, units, width};

/// Minimum size of the screen: below it, a text asks for more room.
const LEAST: (u16, u16) = (40, 8);

/// A way: its word, its colour, and which part of a sample it is.
type ChartSeries = (&'static str, Color, fn(Sample) -> u64);

/// Draws all of it.
pub(super) fn draw(state: &mut State, now: Duration, area: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, state.colour);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("weir top needs {} columns and {} rows", LEAST.0, LEAST.1);
        pen.line(area, 0, &text, Style::new());
        return;
    }
    title(state, now, area, &mut pen);
    let mut top = area.y + 1;
    top += charts(state, area, top, &mut pen);
    if let View::Conversations(_) = state.view {
        top += detail::device(state, area, top, &mut pen);
    }
    let bottom = area.bottom() - 1;
    let list = Rect::new(area.x, top, area.width, bottom.saturating_sub(top));
    if state.help {
        detail::help(list, &mut pen);
    } else if state.detail
        && let Some(conversation) = state.chosen_conversation()
    {
        detail::conversation(state, &conversation.clone(), list, &mut pen);
    } else {
        state.detail = false;
        match state.view {
            View::Devices => devices(state, list, &mut pen),
            View::Conversations(_) => conversations(state, list, &mut pen),
        }
    }
    footer::draw(
        state,
        now,
        Rect::new(area.x, bottom, area.width, 1),
        &mut pen,
    );
}

fn title(state: &State, now: Duration, area: Rect, pen: &mut Pen<'_>) {
    let bold = pen.tone(Tone::Bold);
    let mut text = "weir top".to_owned();
    if let Some(answer) = &state.devices {
        let stations = answer.devices.iter().filter(|device| !device.uplink);
        let conversations = stations
            .clone()
            .map(|device| device.conversations)
            .fold(0, u64::saturating_add);
        let number = units::count(u64::try_from(stations.count()).unwrap_or(u64::MAX));
        let since = units::duration(answer.now.saturating_sub(answer.since));
        text.push_str(&format!(
            "  {number} devices  {} conversations  counted for {since}",
            units::count(conversations)
        ));
    }
    pen.line(area, 0, &text, bold);
    let word = match (state.paused, state.problem(now).is_some()) {
        (true, _) => "PAUSED",
        (false, true) => "NO ANSWER",
        (false, false) => return,
    };
    let width = u16::try_from(word.len()).unwrap_or(0) + 2;
    let corner = Rect::new(area.right() - width, area.y, width, 1);
    let style = pen.tone(Tone::Warn).patch(pen.reversed());
    pen.text(corner, &format!(" {word} "), style, false);
}

/// Draws downloads and uploads of the uplinks, or of the selected device. Returns the number of
/// used rows.
fn charts(state: &State, area: Rect, top: u16, pen: &mut Pen<'_>) -> u16 {
    let rows = match area.height {
        0..12 => 0,
        12..18 => 1,
        18..26 => 2,
        26..40 => 4,
        _ => 6,
    };
    let none = Minute::new();
    let device = state.shown_device();
    let (minute, whose, rate) = match (&state.view, device) {
        (View::Conversations(Some(mac)), device) => {
            let rate = device.map(|device| (device.rate.received, device.rate.sent));
            (
                state.samples.device(mac).unwrap_or(&none),
                String::new(),
                rate,
            )
        }
        _ => (
            state.samples.uplinks(),
            uplinks(state),
            state.devices.as_ref().map(everything),
        ),
    };
    let half = area.width / 2;
    let sides = [
        Rect::new(area.x, top, half - 1, rows + 1),
        Rect::new(area.x + half, top, area.width - half, rows + 1),
    ];
    let ways: [ChartSeries; 2] = [
        ("down", Color::Green, |sample| u64::from(sample.down)),
        ("up", Color::Cyan, |sample| u64::from(sample.up)),
    ];
    for (index, (side, (word, colour, of))) in sides.into_iter().zip(ways).enumerate() {
        let now = rate.map_or_else(
            || "-".to_owned(),
            |rate| units::rate(if index == 0 { rate.0 } else { rate.1 }),
        );
        let most = chart::most(minute, of);
        let mut label = format!("{whose}{word} {now}");
        let peak = format!(", most {}", units::rate(most.saturating_mul(1000)));
        if width(&label) + peak.len() <= usize::from(side.width) {
            label.push_str(&peak);
        }
        pen.line(side, 0, &label, Style::new());
        let place = Rect::new(side.x, side.y + 1, side.width, rows);
        let style = pen.coloured(colour);
        chart::draw(
            (minute, of),
            Fold::Most,
            state.charset,
            style,
            place,
            pen.buffer(),
        );
    }
    rows + 1
}

/// Returns the uplinks of these rates, such as `wan0 `.
fn uplinks(state: &State) -> String {
    let ports = state.devices.iter().flat_map(|answer| &answer.ports);
    let names: Vec<&str> = ports
        .filter(|port| port.uplink)
        .map(|port| port.name.as_str())
        .collect();
    match names[..] {
        [] => String::new(),
        [one] => format!("{one} "),
        _ => format!("{} uplinks ", names.len()),
    }
}

/// Draws a list's heading, and returns the area of its rows.
fn heading<C: Column, I: Clone + PartialEq>(
    place: &ListPosition<C, I>,
    (charset, without): (Charset, Option<C>),
    area: Rect,
    pen: &mut Pen<'_>,
) -> Vec<(C, Rect)> {
    let bold = pen.tone(Tone::Bold);
    let mark = match (charset, place.reversed) {
        (Charset::Unicode, false) => '▼',
        (Charset::Unicode, true) => '▲',
        (Charset::Ascii, false) => 'v',
        (Charset::Ascii, true) => '^',
    };
    // Two columns for the mark of the chosen row.
    let mut x = area.x + 2;
    let mut places = Vec::new();
    for (column, width) in C::fitting(area.width.saturating_sub(2), without) {
        let look = column.layout();
        let cell = Rect::new(x, area.y, width, 1);
        pen.text(cell, look.title, bold, look.right);
        if column == place.sort {
            let title = u16::try_from(look.title.len()).unwrap_or(0);
            // Before a title at the right, in the space between columns if the title fills its own;
            // after a title at the left.
            let at = if look.right {
                x + width - title - 1
            } else {
                x + title
            };
            pen.text(Rect::new(at, area.y, 1, 1), &mark.to_string(), bold, false);
        }
        places.push((column, cell));
        x += width + 1;
    }
    places
}

/// Rows of a list below their heading: calls `cell` for each column of each row that is seen.
fn rows<C: Column, I: Clone + PartialEq, T>(
    place: &mut ListPosition<C, I>,
    how: (Charset, Option<C>),
    (ids, listed): (&[I], &[T]),
    area: Rect,
    pen: &mut Pen<'_>,
    mut cell: impl FnMut(&mut Pen<'_>, C, &T, Rect, bool),
) {
    let columns = heading(place, how, area, pen);
    let page = usize::from(area.height.saturating_sub(1));
    let (first, chosen) = place.fit(page, ids);
    for (number, item) in listed.iter().enumerate().skip(first).take(page) {
        let below = u16::try_from(number - first)
            .unwrap_or(u16::MAX)
            .saturating_add(1);
        let line = Rect::new(area.x, area.y.saturating_add(below), area.width, 1);
        for (column, place) in &columns {
            cell(
                pen,
                *column,
                item,
                Rect {
                    y: line.y,
                    ..*place
                },
                column.layout().right,
            );
        }
        if number == chosen {
            // A sign too: not every terminal shows reversed text, nor does every eye.
            pen.text(Rect { width: 1, ..line }, ">", pen.tone(Tone::Bold), false);
            pen.style(line, pen.reversed());
        }
    }
}

fn devices(state: &mut State, area: Rect, pen: &mut Pen<'_>) {
    let listed: Vec<Device> = state.listed().into_iter().cloned().collect();
    let ids: Vec<String> = listed.iter().map(|device| device.mac.clone()).collect();
    if listed.is_empty() {
        empty(state, area, "no device seen yet", pen);
    }
    let now = state.devices.as_ref().map_or(0, |answer| answer.now);
    let (samples, charset) = (&state.samples, state.charset);
    rows(
        &mut state.device_list,
        (charset, None),
        (&ids, &listed),
        area,
        pen,
        |pen, column, device, place, right| {
            let wait = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), units::milliseconds);
            let latency = || device.latency.clone().unwrap_or_default();
            let mut style = Style::new();
            let text = match column {
                DeviceColumn::Name => display_name(device).to_owned(),
                DeviceColumn::Down => units::count(device.rate.received),
                DeviceColumn::Up => units::count(device.rate.sent),
                DeviceColumn::Minute => {
                    if let Some(minute) = samples.device(&device.mac) {
                        let style = pen.coloured(Color::Green);
                        chart::draw(
                            (minute, Sample::both),
                            Fold::Mean,
                            charset,
                            style,
                            place,
                            pen.buffer(),
                        );
                    }
                    return;
                }
                DeviceColumn::Conversations => units::count(device.conversations),
                DeviceColumn::Received => units::bytes(device.received.bytes),
                DeviceColumn::Sent => units::bytes(device.sent.bytes),
                DeviceColumn::InLan => units::bytes(in_the_lan(device)),
                DeviceColumn::Lan => wait(latency().lan),
                DeviceColumn::Wan => wait(latency().wan),
                DeviceColumn::Note => {
                    let (text, tone) = note(device, now);
                    style = pen.tone(tone);
                    text
                }
                DeviceColumn::Address => device.addresses.first().cloned().unwrap_or_default(),
                DeviceColumn::Port => device.port.clone(),
                DeviceColumn::Mac => device.mac.clone(),
            };
            pen.text(place, &text, style, right);
        },
    );
}

fn conversations(state: &mut State, area: Rect, pen: &mut Pen<'_>) {
    let listed: Vec<Conversation> = state.listed_conversations().into_iter().cloned().collect();
    let ids: Vec<u64> = listed.iter().map(|conversation| conversation.id).collect();
    if listed.is_empty() {
        let why = if state.conversations.is_none() {
            "asking…"
        } else {
            "no conversation at the moment"
        };
        empty(state, area, why, pen);
    }
    let charset = state.charset;
    // In the view of one device, all rows belong to the device.
    let own =
        matches!(state.view, View::Conversations(Some(_))).then_some(ConversationColumn::Device);
    rows(
        &mut state.conversation_list,
        (charset, own),
        (&ids, &listed),
        area,
        pen,
        |pen, column, conversation, place, right| {
            let wait = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), units::milliseconds);
            let latency = || conversation.latency.clone().unwrap_or_default();
            let text = match column {
                ConversationColumn::Remote => remote(conversation, usize::from(place.width)),
                ConversationColumn::Device => station(conversation).to_owned(),
                ConversationColumn::Down => units::count(conversation.rate.received),
                ConversationColumn::Up => units::count(conversation.rate.sent),
                ConversationColumn::Received => units::bytes(conversation.received.bytes),
                ConversationColumn::Sent => units::bytes(conversation.sent.bytes),
                ConversationColumn::Application => {
                    conversation.application.clone().unwrap_or_default()
                }
                ConversationColumn::Protocol => protocol(conversation),
                ConversationColumn::Lan => wait(latency().lan),
                ConversationColumn::Wan => wait(latency().wan),
                ConversationColumn::Hook => conversation
                    .hook
                    .map_or_else(|| "-".to_owned(), |hook| hook.to_string()),
                ConversationColumn::Uplink => conversation.uplink.clone().unwrap_or_default(),
                ConversationColumn::Station => {
                    socket(&conversation.station, conversation.station_port)
                }
            };
            pen.text(place, &text, Style::new(), right);
        },
    );
}

/// Draws the reason why a list is empty.
fn empty(state: &State, area: Rect, why: &str, pen: &mut Pen<'_>) {
    let text = match (&state.devices, state.filter.is_empty()) {
        (None, _) => "asking weir…".to_owned(),
        (Some(_), false) => format!("nothing contains `{}`; Esc shows all again", state.filter),
        (Some(_), true) => why.to_owned(),
    };
    let style = pen.tone(Tone::Dim);
    pen.line(area, 2, &format!("  {text}"), style);
}

#[cfg(test)]
mod tests;
