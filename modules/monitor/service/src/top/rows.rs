//! Position in a list that changes under the user's hands: the chosen row, the sort order, the
//! visible part.

/// Position in a list. A row is identified by its key (`I`), not by its index: the row stays chosen
/// when others overtake it.
#[derive(Debug)]
pub(super) struct ListPosition<C, I> {
    /// Column by which it is sorted.
    pub(super) sort: C,
    /// The other way around.
    pub(super) reversed: bool,
    chosen: Option<I>,
    /// Last index of the chosen row, for when the row is gone.
    at: usize,
    /// The first row that is seen.
    offset: usize,
    /// Rows that are seen at once.
    page: usize,
}

impl<C: Copy + PartialEq, I: Clone + PartialEq> ListPosition<C, I> {
    /// Creates the list, positioned at the top.
    pub(super) fn new(sort: C) -> Self {
        Self {
            sort,
            reversed: false,
            chosen: None,
            at: 0,
            offset: 0,
            page: 10,
        }
    }

    /// Sorts by this column; by the one that it is sorted by already, the other way around.
    pub(super) fn sort_by(&mut self, column: C) {
        self.reversed = self.sort == column && !self.reversed;
        self.sort = column;
    }

    /// Sorts by the next of these columns, or the one before.
    pub(super) fn sort_by_next(&mut self, columns: &[C], forward: bool) {
        let count = columns.len();
        let at = columns
            .iter()
            .position(|column| *column == self.sort)
            .unwrap_or(0);
        let next = if forward {
            at + 1
        } else {
            at + count.saturating_sub(1)
        };
        if let Some(column) = columns.get(next % count.max(1)) {
            (self.sort, self.reversed) = (*column, false);
        }
    }

    /// Returns the index of the chosen row, or of the row in its place.
    pub(super) fn at(&self, rows: &[I]) -> usize {
        let chosen = self
            .chosen
            .as_ref()
            .and_then(|chosen| rows.iter().position(|row| row == chosen));
        chosen.unwrap_or(self.at).min(rows.len().saturating_sub(1))
    }

    /// Returns the selected row.
    pub(super) fn chosen(&self, rows: &[I]) -> Option<I> {
        rows.get(self.at(rows)).cloned()
    }

    /// Moves by `by` rows.
    pub(super) fn step(&mut self, by: isize, rows: &[I]) {
        let to = self.at(rows).saturating_add_signed(by);
        self.go(to, rows);
    }

    /// Moves by `by` pages.
    pub(super) fn turn(&mut self, by: isize, rows: &[I]) {
        let page = isize::try_from(self.page.max(1)).unwrap_or(1);
        self.step(by.saturating_mul(page), rows);
    }

    /// Moves to a row, or to the last one.
    pub(super) fn go(&mut self, to: usize, rows: &[I]) {
        self.at = to.min(rows.len().saturating_sub(1));
        // At the top, the selection is the first row, whichever device it is.
        self.chosen = if self.at == 0 {
            None
        } else {
            rows.get(self.at).cloned()
        };
    }

    /// Scrolls to a page of `page` rows, and returns the first row and the selected one.
    pub(super) fn fit(&mut self, page: usize, rows: &[I]) -> (usize, usize) {
        self.page = page;
        self.at = self.at(rows);
        let first = (self.at + 1).saturating_sub(page.max(1));
        self.offset = self
            .offset
            .clamp(first, self.at)
            .min(rows.len().saturating_sub(page));
        (self.offset, self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stays_chosen_when_others_overtake_it() {
        let mut place = ListPosition::<u8, char>::new(0);
        let rows = ['a', 'b', 'c', 'd'];
        assert_eq!(place.chosen(&rows), Some('a'));
        place.step(2, &rows);
        assert_eq!(place.chosen(&rows), Some('c'));
        assert_eq!(place.chosen(&['c', 'a', 'b']), Some('c'));
        assert_eq!(place.fit(2, &rows), (1, 2));
        assert_eq!(
            place.chosen(&['a', 'b', 'd']),
            Some('d'),
            "what stands in its place"
        );
        assert_eq!(place.chosen(&['a']), Some('a'));
        assert_eq!(place.chosen(&[]), None);
        place.step(isize::MIN, &rows);
        assert_eq!(
            place.chosen(&['d', 'a']),
            Some('d'),
            "at the top, the first"
        );
        place.step(isize::MAX, &rows);
        assert_eq!(place.chosen(&rows), Some('d'));
    }

    #[test]
    fn the_chosen_row_is_seen() {
        let rows: Vec<usize> = (0..100).collect();
        let mut place = ListPosition::<u8, usize>::new(0);
        assert_eq!(place.fit(10, &rows), (0, 0));
        place.turn(1, &rows);
        assert_eq!(place.fit(10, &rows), (1, 10));
        place.turn(2, &rows);
        assert_eq!(place.fit(10, &rows), (21, 30));
        place.step(-5, &rows);
        assert_eq!(
            place.fit(10, &rows),
            (21, 25),
            "the page moves only when it has to"
        );
        assert_eq!(place.fit(1, &rows), (25, 25));
        assert_eq!(place.fit(0, &rows), (25, 25));
        assert_eq!(place.fit(200, &rows), (0, 25), "no page is left half empty");
        assert_eq!(place.fit(10, &rows[..5]), (0, 4));
        assert_eq!(place.fit(10, &[]), (0, 0));
    }

    #[test]
    fn sorts_by_columns_and_back() {
        let mut place = ListPosition::<char, u8>::new('a');
        place.sort_by('a');
        assert_eq!((place.sort, place.reversed), ('a', true));
        place.sort_by('b');
        assert_eq!((place.sort, place.reversed), ('b', false));
        place.sort_by_next(&['a', 'b'], true);
        assert_eq!(place.sort, 'a');
        place.sort_by_next(&['a', 'b'], false);
        assert_eq!(place.sort, 'b');
        place.sort_by_next(&[], true);
        assert_eq!(place.sort, 'b');
    }
}
