//! What other programs ask to embed an address (oembed.com): own charts alone.

use hyper::StatusCode;

use super::route::{self, Route};
use crate::asked::{Asked, HEIGHTS};
use crate::page::snippets::{SOURCE, frame};
use crate::page::{Places, Reader, Shape, escape};

/// Answers in the asked format, as media type and text.
pub(crate) fn answer(
    reader: &Reader,
    query: &str,
) -> Result<(&'static str, String), (StatusCode, String)> {
    let wrong = |text: &str| (StatusCode::BAD_REQUEST, text.to_owned());
    let pairs = api::query::decode(query).ok_or_else(|| wrong("not percent-encoded text"))?;
    let value = |name: &str| {
        let found = pairs.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    };
    let size = |name: &str| match value(name) {
        None | Some("") => Ok(None),
        Some(text) => match api::query::number::<u32>(text) {
            Some(size) => Ok(Some(size)),
            None => Err(wrong(&format!("{name} is a number of pixels"))),
        },
    };
    let xml = match value("format") {
        None | Some("json") => false,
        Some("xml") => true,
        // As the standard has it.
        Some(_) => return Err((StatusCode::NOT_IMPLEMENTED, "format is json or xml".into())),
    };
    let (most_width, most_height) = (size("maxwidth")?, size("maxheight")?);
    let url = value("url").ok_or_else(|| wrong("url names the chart that is to be embedded"))?;
    let Some((chart, asked)) = own(&reader.places, url) else {
        let text = "url is no chart of this atlas: it begins with its address, and /chart/";
        return Err((StatusCode::NOT_FOUND, text.into()));
    };
    let asked = asked.map_err(|error| wrong(&error.to_string()))?;
    let mut asked = asked;
    let at_most = |size: u32, most: Option<u32>| most.map_or(size, |most| most.min(size));
    let width = at_most(asked.look.width, most_width);
    let height = at_most(asked.look.height + SOURCE, most_height);
    // The picture is no higher than its frame leaves it.
    let picture = height.saturating_sub(SOURCE).max(*HEIGHTS.start());
    asked.look.height = picture;
    let title = chart.title(asked.language);
    let html = frame(
        reader,
        chart.name(),
        title,
        &asked,
        &width.to_string(),
        height,
    );
    let provider = match &*reader.places {
        Places::Server { base, .. } => base.as_str(),
        Places::Files { .. } => "",
    };
    let (width, height) = (width.to_string(), height.to_string());
    let members: [(&str, &str); 9] = [
        ("version", "1.0"),
        ("type", "rich"),
        ("title", title),
        ("provider_name", "atlas"),
        ("provider_url", provider),
        ("cache_age", "3600"),
        ("html", &html),
        ("width", &width),
        ("height", &height),
    ];
    if xml {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<oembed>\n");
        for (name, value) in members {
            text.push_str(&format!("<{name}>{}</{name}>\n", escape(value)));
        }
        return Ok(("text/xml; charset=utf-8", text + "</oembed>\n"));
    }
    let member = |(name, value): (&str, &str)| {
        let number = matches!(name, "width" | "height");
        let value = match api::query::number::<u32>(value).filter(|_| number) {
            Some(number) => serde_json::json!(number),
            None => serde_json::json!(value),
        };
        (name.to_owned(), value)
    };
    let object: serde_json::Map<_, _> = members.into_iter().map(member).collect();
    Ok((
        "application/json",
        serde_json::Value::Object(object).to_string(),
    ))
}

type Own = (
    &'static dyn crate::chart::Chart,
    Result<Asked, crate::Error>,
);

/// The chart that an address of this server names. `None`: it is another's, or names none.
fn own(places: &Places, url: &str) -> Option<Own> {
    let Places::Server { base, .. } = places else {
        return None;
    };
    let rest = url.strip_prefix(base.as_str())?;
    let rest = rest.split('#').next()?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    match route::find(path)? {
        Route::Chart(chart, Shape::Page) | Route::Embed(chart) => Some((chart, Asked::read(query))),
        Route::Community(key) => {
            let chart = crate::chart::find("community")?;
            let asked = Asked::read(&format!("key={key}"));
            Some((chart, asked))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Result<(&'static str, String), (StatusCode, String)> {
        answer(&Reader::of_server("https://example.org/atlas"), query)
    }

    #[test]
    fn own_charts_alone() {
        for (url, status) in [
            ("https://example.org/atlas/chart/growth", 200),
            ("https://example.org/atlas/embed/growth%23x", 200),
            ("https://example.org/atlas/about", 404),
            ("https://example.org/chart/growth", 404),
            ("https://example.org.evil.example/atlas/chart/growth", 404),
            ("https://example.org/atlas.evil/chart/growth", 404),
            ("javascript:alert(1)", 404),
            ("", 404),
        ] {
            let told = ask(&format!("url={url}"));
            let status_told = told
                .as_ref()
                .map_or_else(|(status, _)| status.as_u16(), |_| 200);
            assert_eq!(status_told, status, "{url}: {told:?}");
        }
        assert!(ask("").is_err());
        let format = ask("url=https://example.org/atlas/chart/growth&format=yaml");
        assert_eq!(format.expect_err("refused").0, 501);
    }

    #[test]
    fn a_community_is_its_chart() {
        let url = "url=https://example.org/atlas/community/k%25C3%25B6ln";
        let (_, text) = ask(url).expect("answered");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let html = value["html"].as_str().expect("markup");
        let embed = "<iframe src=\"https://example.org/atlas/embed/community?key=k%C3%B6ln\"";
        assert!(html.starts_with(embed), "{html}");
    }

    #[test]
    fn fits_where_it_is_to_stand() {
        let url = "url=https://example.org/atlas/chart/growth&maxwidth=400&maxheight=300";
        let (_, text) = ask(url).expect("answered");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["width"], 400);
        assert_eq!(value["height"], 300);
        assert_eq!(value["type"], "rich");
        let html = value["html"].as_str().expect("markup");
        assert!(
            html.starts_with("<iframe src=\"https://example.org/atlas/embed/growth?height=260\""),
            "{html}"
        );
        assert!(html.contains(" width=\"400\" height=\"300\""), "{html}");
        // What is lower than any picture scrolls.
        let low = "url=https://example.org/atlas/chart/growth&maxheight=90";
        let (_, text) = ask(low).expect("answered");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["height"], 90);
        let html = value["html"].as_str().expect("markup");
        assert!(html.contains("/embed/growth?height=160\""), "{html}");
        let (_, text) = ask("url=https://example.org/atlas/chart/growth").expect("answered");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (&value["width"], &value["height"]),
            (&960.into(), &520.into())
        );
        assert_eq!(value["cache_age"], "3600");
        // What is lower than usual stays so.
        let own = "url=https://example.org/atlas/chart/growth%3Fheight%3D200&maxheight=300";
        let (_, text) = ask(own).expect("answered");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["height"], 240);
        let html = value["html"].as_str().expect("markup");
        assert!(html.contains("/embed/growth?height=200\""), "{html}");
        let (media, text) = ask(&format!("{url}&format=xml")).expect("answered");
        assert!(
            media.starts_with("text/xml") && text.contains("&lt;iframe"),
            "{text}"
        );
    }
}
