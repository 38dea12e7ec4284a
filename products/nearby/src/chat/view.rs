//! View of a chat: rows of text that fit, and then a terminal's cells.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::model::{Chat, Entry, Kind, PUBLIC};
use super::text::{letters, width, wrapped};
use crate::daemon::Message;
use crate::sanitize::harmless;

/// Colours of names; each can be read on black and on white.
const COLOURS: [Color; 6] = [
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
];

/// Capabilities of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalStyle {
    /// Colours may be used.
    pub colour: bool,
    /// True if characters other than letters may be used.
    pub signs: bool,
}

/// Style of a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Normal text.
    Plain,
    /// Secondary text.
    Dim,
    /// The sender, with the id.
    Name(String),
    /// Delivered.
    Good,
    /// Failed.
    Bad,
}

/// A row: pieces of text.
pub type Row = Vec<(String, Tone)>;

/// Returns the delivery status of an own message.
pub fn outcome(message: &Message, signs: bool) -> (String, Tone) {
    let Message {
        to, done, failed, ..
    } = message;
    let tone = match (to, done, failed) {
        (0, ..) => Tone::Bad,
        _ if done == to => Tone::Good,
        _ if *failed > 0 => Tone::Bad,
        _ => Tone::Dim,
    };
    let text = match (to, done, failed, signs) {
        (0, ..) => "no peers near".to_owned(),
        (_, 0, 0, true) => format!("… 0/{to}"),
        (_, 0, failed, true) => format!("✗ {failed}/{to}"),
        (_, done, 0, true) => format!("✓ {done}/{to}"),
        (_, done, failed, true) => format!("✓ {done}/{to} ✗ {failed}"),
        (_, done, 0, false) => format!("at {done} of {to}"),
        (_, done, failed, false) => format!("at {done} of {to}, failed at {failed}"),
    };
    (text, tone)
}

/// Splits an entry into rows of the given width.
pub fn rows(
    chat: &Chat,
    entry: &Entry,
    columns: usize,
    signs: bool,
    clock: &dyn Fn(u64) -> String,
) -> Vec<Row> {
    let time = clock(entry.time);
    let mut head: Row = vec![(format!("{time} "), Tone::Dim)];
    let (text, tone, end) = match &entry.kind {
        Kind::Message(message) => {
            let name = match (message.own, &message.peer) {
                (false, _) => chat.name(&message.sender),
                (true, None) => "you".to_owned(),
                (true, Some(peer)) => format!("you to {}", chat.name(peer)),
            };
            let tone = match message.own {
                true => Tone::Plain,
                false => Tone::Name(message.sender.clone()),
            };
            head.push((name, tone));
            head.push(("  ".to_owned(), Tone::Plain));
            let end = message.own.then(|| outcome(message, signs));
            (&message.text, Tone::Plain, end)
        }
        Kind::Note(text) => (text, Tone::Dim, None),
        Kind::Wrong(text) => (text, Tone::Bad, None),
    };
    let begin: usize = head.iter().map(|(text, _)| width(text)).sum();
    // Without room next to the sender, the text begins in the next row.
    let beside = begin + 10 <= columns;
    let indent = if beside { begin } else { 2.min(columns / 4) };
    let mut out = Vec::new();
    let mut notice = Vec::new();
    if !beside {
        out.push(fit(std::mem::take(&mut head), columns));
    }
    for text in wrapped(&harmless(text), columns.saturating_sub(indent)) {
        let mut row = std::mem::take(&mut head);
        if row.is_empty() {
            row.push((" ".repeat(indent), Tone::Plain));
        }
        row.push((text, tone.clone()));
        out.push(row);
    }
    if let Kind::Message(Message {
        peer: Some(_),
        own: true,
        ..
    }) = &entry.kind
    {
        for text in wrapped(PUBLIC, columns.saturating_sub(indent)) {
            let indent = (" ".repeat(indent), Tone::Plain);
            notice.push(vec![indent, (text, Tone::Bad)]);
        }
    }
    if let Some((text, tone)) = end {
        let taken = |row: &Row| row.iter().map(|(text, _)| width(text)).sum::<usize>();
        match out.last_mut() {
            Some(row) if taken(row) + 2 + width(&text) <= columns => {
                row.push((format!("  {text}"), tone));
            }
            _ => out.push(fit(
                vec![(" ".repeat(indent), Tone::Plain), (text, tone)],
                columns,
            )),
        }
    }
    out.append(&mut notice);
    out
}

/// Cuts a row to the width.
fn fit(row: Row, columns: usize) -> Row {
    let mut left = columns;
    let cut = |(text, tone): (String, Tone)| {
        let text = start(&text, left);
        left -= width(&text);
        (text, tone)
    };
    row.into_iter().map(cut).collect()
}

/// Cuts a text to the width.
fn start(text: &str, columns: usize) -> String {
    let mut taken = 0;
    let fits = |(_, letter): &(usize, &str)| {
        taken += width(letter);
        taken <= columns
    };
    letters(text).take_while(fits).map(|(_, it)| it).collect()
}

/// Returns the peers nearby, in one row of the given width.
pub fn near(chat: &Chat, columns: usize) -> String {
    if !chat.is_there() {
        return start("weir-nearby is not reachable: trying again", columns);
    }
    let peers = chat.peers();
    let mut row = match peers.len() {
        0 => "no peers near".to_owned(),
        count => format!("{count} near:"),
    };
    for (at, peer) in peers.iter().enumerate() {
        let signal = peer.signal.map_or(String::new(), |it| format!(" {it} dBm"));
        let comma = if at == 0 { "" } else { "," };
        let text = format!("{comma} {}{signal}", chat.name(&peer.id));
        let more = format!(", +{}", peers.len() - at);
        let is_last = at + 1 == peers.len();
        let room = columns.saturating_sub(if is_last { 0 } else { width(&more) });
        if width(&row) + width(&text) > room {
            row += &more;
            break;
        }
        row += &text;
    }
    start(&row, columns)
}

/// Draws the whole screen. Stores how far the user can scroll back.
pub fn draw(
    chat: &mut Chat,
    look: TerminalStyle,
    clock: &dyn Fn(u64) -> String,
    frame: &mut Frame<'_>,
) {
    let area = frame.area();
    let (columns, height) = (usize::from(area.width), usize::from(area.height));
    if columns < 2 || height == 0 {
        return;
    }
    let above = height.saturating_sub(2);
    // Counted from below, and limited to the visible rows.
    let wanted = above + chat.scrolled;
    let mut all: Vec<Row> = Vec::new();
    for entry in chat.entries().rev() {
        if all.len() >= wanted {
            break;
        }
        all.extend(
            rows(chat, entry, columns, look.signs, clock)
                .into_iter()
                .rev(),
        );
    }
    chat.scrolled = chat.scrolled.min(all.len().saturating_sub(above));
    let seen = all.iter().skip(chat.scrolled).take(above);
    let (x, width) = (area.x, area.width);
    let mut y = area.y + u16::try_from(seen.len()).unwrap_or(area.height);
    for row in seen {
        y -= 1;
        let spans = row
            .iter()
            .map(|(text, tone)| Span::styled(text.as_str(), style(tone, look)));
        let line = Line::from(spans.collect::<Vec<_>>());
        frame.buffer_mut().set_line(x, y, &line, width);
    }
    if height >= 2 {
        let y = area.bottom() - 2;
        let mut text = near(chat, columns);
        if chat.scrolled > 0 {
            text = start(&format!("{} rows below; {text}", chat.scrolled), columns);
        }
        let bar = Style::new().add_modifier(Modifier::REVERSED);
        frame.buffer_mut().set_stringn(x, y, text, columns, bar);
        frame.buffer_mut().set_style(Rect::new(x, y, width, 1), bar);
    }
    let to = chat
        .to()
        .map_or("all".to_owned(), |id| format!("{}, public", chat.name(id)));
    let mut prompt = format!("{to}> ");
    if prompt.len() + 8 > columns {
        prompt = String::new();
    }
    let y = area.bottom() - 1;
    frame
        .buffer_mut()
        .set_stringn(x, y, &prompt, columns, style(&Tone::Dim, look));
    let (text, at) = chat.input.seen(columns - prompt.len());
    let begin = x + u16::try_from(prompt.len()).unwrap_or(0);
    frame
        .buffer_mut()
        .set_stringn(begin, y, text, columns - prompt.len(), Style::new());
    let at = begin + u16::try_from(at).unwrap_or(0);
    frame.set_cursor_position(Position::new(at.min(area.right() - 1), y));
}

/// Returns the style of a tone. Words repeat its meaning, as not all users see colours.
fn style(tone: &Tone, look: TerminalStyle) -> Style {
    let coloured = |colour| {
        if look.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    };
    match tone {
        Tone::Plain => Style::new(),
        Tone::Dim => Style::new().add_modifier(Modifier::DIM),
        Tone::Good => coloured(Color::Green),
        Tone::Bad => coloured(Color::Red).add_modifier(Modifier::BOLD),
        Tone::Name(id) => {
            let sum = id
                .bytes()
                .fold(7u32, |sum, it| sum.wrapping_mul(31) + u32::from(it));
            let colour = COLOURS[sum as usize % COLOURS.len()];
            coloured(colour).add_modifier(Modifier::BOLD)
        }
    }
}

#[cfg(test)]
mod tests;
