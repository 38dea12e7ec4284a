//! The page of an error.

use std::fmt::Write as _;

use super::layout::{Page, lay};
use super::{Reader, To};
use crate::german::Book;

/// Returns the page: the error, and links to go on.
pub(crate) fn page(reader: &Reader, status: u16, error: &str, hint: &str) -> String {
    let title = match status {
        404 => reader.say("No such page", "Diese Seite gibt es nicht"),
        400 => reader.say("Invalid request", "Das kann nicht gefragt werden"),
        405 => reader.say("Pages here are only read", "Hier wird nur gelesen"),
        _ => reader.say("Something went wrong", "Das ging nicht"),
    };
    let mut main = format!(
        "<div class=\"title\"><h1>{title}</h1></div>\n<section class=\"card\">\n\
         <p class=\"notice bad\" role=\"alert\"><span>{}</span></p>\n",
        reader.prose(Book::Errors, error)
    );
    if !hint.is_empty() {
        let _ = writeln!(main, "<p>{}</p>", reader.prose(Book::Errors, hint));
    }
    let _ = writeln!(
        main,
        "<p class=\"links\"><a class=\"button primary\" href=\"{}\">{}</a></p>\n</section>",
        reader.href(&To::Overview),
        reader.say("To the overview", "Zur Übersicht"),
    );
    let here = reader.places.address(reader, &To::Overview);
    lay(
        reader,
        &Page {
            title: title.to_owned(),
            current: "-",
            path: here.split('?').next().unwrap_or_default().to_owned(),
            pairs: Vec::new(),
            head: String::new(),
            main,
        },
    )
}
