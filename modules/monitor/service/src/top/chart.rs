//! Charts of the last minute.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::samples::{MINUTE, Minute, Sample};
use runtime::output::Charset;

/// Aggregate of several seconds in one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// The most of them: no peak is lost.
    Most,
    /// Mean of the seconds: bursts stay visible in a few columns.
    Mean,
}

/// Draws a minute over the whole of the area, the latest second at the right edge, the largest
/// column as high as the area. Gaps stay empty.
pub(super) fn draw(
    (minute, of): (&Minute, fn(Sample) -> u64),
    fold: Fold,
    charset: Charset,
    style: Style,
    area: Rect,
    buffer: &mut Buffer,
) {
    let area = area.intersection(buffer.area);
    let rows = usize::from(area.height);
    let columns = columns(minute, of, fold, usize::from(area.width));
    let most = columns.iter().flatten().copied().max().unwrap_or(0);
    for (x, value) in (area.left()..area.right()).zip(columns) {
        let Some(value) = value else { continue };
        for (y, letter) in (area.top()..area.bottom()).zip(charset.column(value, most, rows)) {
            buffer[(x, y)].set_char(letter).set_style(style);
        }
    }
}

/// Returns the maximum of the whole minute.
pub(super) fn most(minute: &Minute, of: fn(Sample) -> u64) -> u64 {
    minute
        .iter()
        .flatten()
        .map(|sample| of(*sample))
        .max()
        .unwrap_or(0)
}

fn columns(minute: &Minute, of: fn(Sample) -> u64, fold: Fold, width: usize) -> Vec<Option<u64>> {
    let missing = MINUTE.saturating_sub(minute.len());
    let at = |second: usize| minute.get(second.checked_sub(missing)?).copied().flatten();
    let column = |x: usize| {
        let start = x * MINUTE / width;
        let end = ((x + 1) * MINUTE / width).max(start + 1);
        let values = (start..end).filter_map(at).map(of);
        match fold {
            Fold::Most => values.max(),
            Fold::Mean => {
                // At most 60 of 34 bits.
                let (sum, number) = values.fold((0u64, 0u64), |(sum, number), value| {
                    (sum + value, number + 1)
                });
                (number > 0).then(|| sum.div_ceil(number))
            }
        }
    };
    (0..width).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(values: &[Option<u32>]) -> Minute {
        let sample = |value: &Option<u32>| value.map(|down| Sample { down, up: 0 });
        values.iter().map(sample).collect()
    }

    fn drawn(minute: &Minute, width: u16, height: u16, charset: Charset) -> Vec<String> {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let of = |sample: Sample| u64::from(sample.down);
        draw(
            (minute, of),
            Fold::Most,
            charset,
            Style::new(),
            area,
            &mut buffer,
        );
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        (0..height).map(row).collect()
    }

    #[test]
    fn the_latest_is_at_the_right() {
        let some = minute(&[Some(8), Some(0), None, Some(4)]);
        let sixty = drawn(&some, 60, 1, Charset::Unicode);
        assert_eq!(sixty[0].trim_start(), "█  ▄");
        assert_eq!(drawn(&some, 30, 1, Charset::Unicode)[0].trim_start(), "█▄");
        assert!(drawn(&some, 120, 1, Charset::Unicode)[0].ends_with("██    ▄▄"));
        assert_eq!(
            drawn(&some, 60, 2, Charset::Ascii)
                .iter()
                .map(|row| row.trim())
                .collect::<Vec<_>>(),
            ["#", "#  #"]
        );
    }

    #[test]
    fn a_mean_keeps_bursts_apart() {
        let some = minute(&[Some(8), Some(0), Some(8), None]);
        let of = |sample: Sample| u64::from(sample.down);
        assert_eq!(columns(&some, of, Fold::Mean, 30)[28..], [Some(4), Some(8)]);
        assert_eq!(columns(&some, of, Fold::Most, 30)[28..], [Some(8), Some(8)]);
        assert_eq!(
            columns(&some, of, Fold::Mean, 60)[55..],
            [None, Some(8), Some(0), Some(8), None]
        );
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        for (width, height) in [(0, 0), (0, 3), (5, 0), (5, 2)] {
            let rows = drawn(&Minute::new(), width, height, Charset::Unicode);
            assert!(rows.iter().all(|row| row.trim().is_empty()));
        }
    }
}
