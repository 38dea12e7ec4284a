//! The form above a chart: all that it can be asked.

use std::fmt::Write as _;

use super::places::own;
use super::{Reader, Shape, To, escape};
use crate::chart::{Chart, Parameter};
use crate::chart_query::ChartQuery;
use crate::time::Unit;

/// Returns the HTML of the form, filled with the question.
pub(super) fn form(reader: &Reader, chart: &dyn Chart, asked: &ChartQuery) -> String {
    let pairs = api::query::decode(&asked.query()).unwrap_or_default();
    let value = |name: &str| {
        let found = pairs.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let nothing = reader.asks();
    let mut html = format!(
        "<form class=\"controls\" method=\"get\" action=\"{}\" data-chart-form>\n",
        action(reader, chart)
    );
    let has = |parameter| chart.parameters().contains(&parameter);
    let mut text = |name: &str, label: &str, hint: &str, class: &str| {
        let _ = writeln!(
            html,
            "<div class=\"field\"><label for=\"{name}\">{label}</label>\
             <input id=\"{name}\" name=\"{name}\" value=\"{}\" placeholder=\"{hint}\" \
             size=\"{class}\" autocomplete=\"off\"></div>",
            escape(value(name)),
        );
    };
    if has(Parameter::Key) {
        text(
            "key",
            reader.say("Community", "Gemeinschaft"),
            "aachen",
            "16",
        );
    }
    if has(Parameter::At) {
        text("at", reader.say("At", "Zeitpunkt"), "2019-10", "10");
    } else {
        text("from", reader.say("From", "Von"), "2013", "10");
        text("to", reader.say("To", "Bis"), "2019-12", "10");
    }
    if has(Parameter::Count) {
        text("n", reader.say("How many", "Wie viele"), "10", "4");
    }
    if !has(Parameter::At) {
        let _ = write!(
            html,
            "<div class=\"field\"><label for=\"by\">{}</label><select id=\"by\" name=\"by\">\
             <option value=\"\">{}</option>",
            reader.say("By", "Je"),
            reader.say("what fits", "was passt")
        );
        for (unit, name) in [
            (Unit::Hour, reader.say("hour", "Stunde")),
            (Unit::Day, reader.say("day", "Tag")),
            (Unit::Month, reader.say("month", "Monat")),
        ] {
            let selected = if asked.by == Some(unit) {
                " selected"
            } else {
                ""
            };
            let word = unit.word();
            let _ = write!(html, "<option value=\"{word}\"{selected}>{name}</option>");
        }
        html.push_str("</select></div>\n");
    }
    for (parameter, name, on, label, set) in [
        (
            Parameter::Group,
            "group",
            "meta",
            reader.say("Metacommunities as one", "Metagemeinschaften zusammen"),
            asked.group,
        ),
        (
            Parameter::Share,
            "share",
            "1",
            reader.say("Parts of a hundred", "Anteile in Prozent"),
            asked.share,
        ),
    ] {
        if has(parameter) {
            let checked = if set { " checked" } else { "" };
            let _ = writeln!(
                html,
                "<div class=\"field check\"><input type=\"checkbox\" id=\"{name}\" \
                 name=\"{name}\" value=\"{on}\"{checked}><label for=\"{name}\">{label}</label></div>"
            );
        }
    }
    // Parameters without a field stay as they are.
    let kept = [(
        "only",
        Some(value("only").to_owned()).filter(|only| !only.is_empty()),
    )];
    for (name, value) in own(reader).into_iter().chain(kept) {
        if let Some(value) = value {
            let value = escape(&value);
            let _ = writeln!(
                html,
                "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">"
            );
        }
    }
    let mut all = nothing;
    all.key.clone_from(&asked.key);
    let _ = write!(
        html,
        "<button class=\"button primary\">{}</button>\n<a class=\"button\" href=\"{}\">{}</a>\n\
         </form>\n",
        reader.say("Show", "Zeigen"),
        reader.href(&To::Chart(chart.name(), Shape::Page, &all)),
        reader.say("All", "Alles"),
    );
    html
}

/// Returns the chart's address without a query: the form's fields are the query.
fn action(reader: &Reader, chart: &dyn Chart) -> String {
    let to = reader.href(&To::Chart(
        chart.name(),
        Shape::Page,
        &ChartQuery::default(),
    ));
    to.split('?').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_has_what_was_asked() {
        let reader = Reader::of_server("https://example.org");
        let html = |chart: &str, query: &str| {
            let asked = ChartQuery::read(query).expect(query);
            form(&reader, crate::chart::find(chart).expect(chart), &asked)
        };
        let growth = html("growth", "from=2019-10&by=day&only=live");
        assert_eq!(growth.matches(" selected").count(), 1);
        assert!(
            growth.contains("<option value=\"day\" selected>"),
            "{growth}"
        );
        assert!(
            growth.contains("name=\"from\" value=\"2019-10\""),
            "{growth}"
        );
        let kept = "<input type=\"hidden\" name=\"only\" value=\"live\">";
        assert!(growth.contains(kept), "{growth}");
        // Unset fields are not kept, and a chart has only the fields that it uses.
        let plain = html("routing", "");
        assert!(
            !plain.contains("hidden") && !plain.contains(" selected"),
            "{plain}"
        );
        assert!(!plain.contains("name=\"at\"") && plain.contains("value=\"1\"><label"));
        let share = html("routing", "share=1");
        assert!(share.contains("value=\"1\" checked>"), "{share}");
    }
}
