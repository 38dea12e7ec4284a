//! Writes text into a buffer: sanitised, cut to its area, with colour only if the terminal has
//! colours.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use runtime::output::{Tone, clipped, sanitize, width};

/// Maximum length of a text in bytes: longer texts fit no terminal.
const LONGEST: usize = 2048;

/// All output goes through this type, so no text from the network reaches the terminal unchanged.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    colour: bool,
}

impl<'a> Pen<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, colour: bool) -> Self {
        Self { buffer, colour }
    }

    /// Returns the buffer, for drawing other things than text.
    pub(super) fn buffer(&mut self) -> &mut Buffer {
        self.buffer
    }

    /// Writes text in the first row of an area, at its left or right side.
    pub(super) fn text(&mut self, place: Rect, text: &str, style: Style, right: bool) {
        let place = place.intersection(self.buffer.area);
        if place.is_empty() {
            return;
        }
        let head: String = text.chars().take(LONGEST).collect();
        let text = clipped(&sanitize(&head), usize::from(place.width));
        let taken = u16::try_from(width(&text)).unwrap_or(place.width);
        let x = if right {
            place.right().saturating_sub(taken)
        } else {
            place.x
        };
        self.buffer
            .set_stringn(x, place.y, &text, usize::from(place.width), style);
    }

    /// Writes text in a row of an area, over its whole width.
    pub(super) fn line(&mut self, area: Rect, row: u16, text: &str, style: Style) {
        if row < area.height {
            let place = Rect::new(area.x, area.y.saturating_add(row), area.width, 1);
            self.text(place, text, style, false);
        }
    }

    /// Changes the style of an area already drawn.
    pub(super) fn style(&mut self, place: Rect, style: Style) {
        self.buffer.set_style(place, style);
    }

    /// Returns the style of a tone. Words say the same, as some users do not see colours.
    pub(super) fn tone(&self, tone: Tone) -> Style {
        let look = |colour, modifier| {
            let style = Style::new().add_modifier(modifier);
            if self.colour { style.fg(colour) } else { style }
        };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Good => look(Color::Green, Modifier::empty()),
            Tone::Warn => look(Color::Yellow, Modifier::BOLD),
            Tone::Bad => look(Color::Red, Modifier::BOLD),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
            Tone::Bold => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// Returns the style of a colour without a meaning.
    pub(super) fn coloured(&self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    /// Returns the style with background and text exchanged.
    pub(super) fn reversed(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
