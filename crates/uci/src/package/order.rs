//! Sections that move, or go, with their lines.

use super::Package;
use crate::{
    document::{Id, Piece},
    error::Error,
};
use std::collections::HashSet;

impl Package {
    /// Moves a section to a place, counted from 0; past the end it is the last.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn reorder(&mut self, section: &str, to: usize) -> Result<(), Error> {
        let n = self.position(section)?;
        let to = to.min(self.sections.len() - 1);
        if n == to {
            return Ok(());
        }
        let lines = self.lift(n);
        let section = self.sections.remove(n);
        let at = match self.sections.get(to) {
            Some(next) => self.document.lead(self.document.index(next.heads[0])),
            None => self.document.len(),
        };
        self.sections.insert(to, section);
        if at > 0 && !self.document.blank_before(at) {
            self.document.insert_blank(at);
            self.settle(at + 1, lines);
        } else {
            self.settle(at, lines);
        }
        Ok(())
    }

    fn settle(&mut self, at: usize, lines: Vec<Piece>) {
        let (end, after) = (at + lines.len(), self.document.len() > at);
        self.document.put(at, lines);
        if after && !self.document.blank_before(end) {
            self.document.insert_blank(end);
        }
    }

    /// Takes a section's lines out of the text.
    pub(super) fn lift(&mut self, n: usize) -> Vec<Piece> {
        let own: HashSet<Id> = self.sections[n].statements().into_iter().collect();
        for &at in &own {
            self.document.part(at);
        }
        let heads: HashSet<Id> = self
            .sections
            .iter()
            .flat_map(|section| section.heads.iter().copied())
            .collect();
        let mut lines = Vec::new();
        for head in self.sections[n].heads.clone().into_iter().rev() {
            let from = self.document.index(head);
            let (next, last) = self.document.between(from, &heads, &own);
            let region = self.document.region(from, last, next);
            lines.splice(..0, self.document.take(region));
        }
        lines
    }
}
