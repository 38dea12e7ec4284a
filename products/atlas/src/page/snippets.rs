//! Embedding of a chart in other pages: code to copy, and discovery for programs (oembed.com).

use std::fmt::Write as _;

use super::{Reader, Shape, To, escape};
use crate::chart_query::{ChartQuery, PictureStyle};
use crate::figure::Figure;
use crate::time;

/// Size in narrow windows.
pub(super) const NARROW: (u32, u32) = (340, 400);

/// Height of the line with the source, below a chart in a frame.
pub(crate) const SOURCE: u32 = 40;

/// Writes the code to copy into other pages.
pub(super) fn snippets(
    reader: &Reader,
    name: &str,
    figure: &Figure,
    asked: &ChartQuery,
    html: &mut String,
) {
    let address = |to: To<'_>| escape(&reader.places.absolute(reader, &to));
    let page = address(To::Chart(name, Shape::Page, asked));
    let picture = address(To::Chart(name, Shape::Svg, asked));
    let title = lasting(figure, asked);
    let high = (asked.look.height + SOURCE).to_string();
    let frame = frame(reader, name, title, asked, "100%", &high);
    let title = escape(title);
    let small = ChartQuery {
        look: PictureStyle {
            width: NARROW.0,
            height: NARROW.1,
            ..asked.look
        },
        ..asked.clone()
    };
    let small = address(To::Chart(name, Shape::Svg, &small));
    let component = format!(
        "<script type=\"module\" src=\"{}\"></script>\n\
         <weir-chart src=\"{page}\"><a href=\"{page}\">{title}</a></weir-chart>",
        address(To::Asset("weir-chart.js")),
    );
    // A wide picture shrunk to a telephone's width would be illegible. Uses no styles, which many
    // policies forbid.
    let image = format!(
        "<a href=\"{page}\"><picture><source media=\"(max-width: 600px)\" srcset=\"{small}\">\
         <img src=\"{picture}\" alt=\"{title}\" width=\"100%\"></picture></a>"
    );
    let _ = write!(
        html,
        "<section class=\"card\" data-part=\"embed\">\n<h2>{}</h2>\n",
        reader.say("In other pages", "In anderen Seiten"),
    );
    for (id, label, text) in [
        ("address", reader.say("Address", "Adresse"), page.as_str()),
        (
            "component",
            reader.say("Lively, with a script", "Lebendig, mit Skript"),
            &component,
        ),
        ("frame", reader.say("In a frame", "In einem Rahmen"), &frame),
        (
            "image",
            reader.say("As a picture, without script", "Als Bild, ohne Skript"),
            &image,
        ),
    ] {
        // The address is text in the page; the others are markup to copy.
        let text = match id {
            "address" => text.to_owned(),
            _ => escape(text),
        };
        let _ = writeln!(
            html,
            "<div class=\"field\"><label for=\"snippet-{id}\">{label}</label>\
             <textarea class=\"snippet\" id=\"snippet-{id}\" readonly rows=\"2\" \
             spellcheck=\"false\">{text}</textarea></div>",
        );
    }
    html.push_str("</section>\n");
}

/// Returns a title for an address whose range moves with time: the current title would soon be
/// wrong.
pub(crate) fn lasting<'a>(figure: &'a Figure, asked: &ChartQuery) -> &'a str {
    match asked.goes_on() {
        true => &figure.name,
        false => &figure.title,
    }
}

/// Returns a frame with a chart, for other pages; `high`: with the line of the source.
pub(crate) fn frame(
    reader: &Reader,
    name: &str,
    title: &str,
    asked: &ChartQuery,
    width: &str,
    high: &str,
) -> String {
    format!(
        "<iframe src=\"{}\" title=\"{}\" width=\"{width}\" height=\"{high}\" loading=\"lazy\" \
         frameborder=\"0\"></iframe>",
        escape(&reader.places.absolute(reader, &To::Embed(name, asked))),
        escape(title),
    )
}

/// Returns the lines of the head for oEmbed discovery (oembed.com, section 4).
pub(super) fn discovery(
    reader: &Reader,
    name: &str,
    figure: &Figure,
    asked: &ChartQuery,
) -> String {
    if !reader.places.answers() {
        return String::new();
    }
    let page = reader
        .places
        .absolute(reader, &To::Chart(name, Shape::Page, asked));
    let title = escape(&figure.title);
    let mut html = String::new();
    for format in ["json", "xml"] {
        let query = [
            ("url", Some(page.clone())),
            ("format", Some(format.to_owned())),
        ];
        let address = format!(
            "{}?{}",
            reader.places.absolute(reader, &To::Asset("oembed")),
            api::query::encode(query)
        );
        let _ = writeln!(
            html,
            "<link rel=\"alternate\" type=\"application/{format}+oembed\" href=\"{}\" \
             title=\"{title}\">",
            escape(&address),
        );
    }
    let _ = writeln!(
        html,
        "<link rel=\"canonical\" href=\"{}\">\n<meta property=\"og:title\" content=\"{title}\">\n\
         <meta name=\"description\" content=\"{title}, {} – {}\">",
        escape(&page),
        time::day(figure.from),
        time::day(figure.to - 1),
    );
    html
}
