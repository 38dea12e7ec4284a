//! The last line.

use std::time::Duration;

use ratatui::layout::Rect;

use super::pen::Pen;
use crate::top::state::{State, View};
use runtime::output::{Tone, width};

/// Draws a problem, the text typed, or the available keys.
pub(super) fn draw(state: &State, now: Duration, area: Rect, pen: &mut Pen<'_>) {
    let dim = pen.tone(Tone::Dim);
    if state.typing {
        let style = pen.tone(Tone::Bold);
        pen.line(
            area,
            0,
            &format!("filter: {}_   Enter keeps it, Esc clears it", state.filter),
            style,
        );
    } else if let Some((what, hint)) = state.problem(now) {
        let style = pen.tone(Tone::Bad);
        // The end of a path may be cut off; the text "trying again" must be visible.
        pen.line(area, 0, &format!("trying again: {what}; {hint}"), style);
    } else {
        let filter = (!state.filter.is_empty()).then(|| format!("only `{}`", state.filter));
        let keys: &[&str] = match (&state.view, state.detail) {
            _ if state.help => &["any key: back"],
            _ if filter.is_some() => &["Esc shows all", "/ changes it", "? help", "q quit"],
            (View::Devices, _) => &[
                "? help",
                "q quit",
                "Enter conversations",
                "/ filter",
                "s sort",
                "p pause",
                "c all conversations",
                "u uplinks",
            ],
            (View::Conversations(_), false) => &[
                "? help",
                "q quit",
                "Esc back",
                "Enter all of it",
                "/ filter",
                "s sort",
                "p pause",
            ],
            (View::Conversations(_), true) => &["? help", "q quit", "Esc back", "p pause"],
        };
        // Shows as many keys as fit, none in part.
        let mut text = filter.unwrap_or_default();
        for key in keys {
            let longer = if text.is_empty() {
                (*key).to_owned()
            } else {
                format!("{text}   {key}")
            };
            if width(&longer) > usize::from(area.width) {
                break;
            }
            text = longer;
        }
        pen.line(area, 0, &text, dim);
    }
}
