//! The oEmbed endpoint (oembed.com), for own charts alone.

use hyper::StatusCode;

use super::request::Refusal;
use super::route::{self, Route};
use crate::chart::Chart;
use crate::chart_query::{ChartQuery, HEIGHTS};
use crate::error::Error;
use crate::figure::Figure;
use crate::page::snippets::{SOURCE, frame, lasting};
use crate::page::{Places, Reader, Shape, escape};

/// A request to embed.
pub(super) struct OembedRequest {
    pub chart: &'static dyn Chart,
    pub asked: ChartQuery,
    /// Size of the frame.
    width: u32,
    height: u32,
    xml: bool,
}

/// Parses the query of an oEmbed request.
pub(super) fn read(reader: &Reader, query: &str) -> Result<OembedRequest, Refusal> {
    let wrong = |text: &str| Refusal::of(&Error::Asked(text.to_owned()));
    let pairs = api::query::decode(query).ok_or_else(|| wrong("not percent-encoded text"))?;
    let value = |name: &str| {
        let found = pairs.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    };
    let size = |name: &str| match value(name) {
        None | Some("") => Ok(u32::MAX),
        Some(text) => match api::query::number::<u32>(text) {
            Some(size) if size > 0 => Ok(size),
            _ => Err(wrong(&format!(
                "{name} must be a number of pixels, 1 or more"
            ))),
        },
    };
    let refused = |status, error: &str, hint: &str| Refusal {
        status,
        error: error.to_owned(),
        hint: hint.to_owned(),
    };
    let xml = match value("format") {
        None | Some("json") => false,
        Some("xml") => true,
        // As the standard requires.
        Some(_) => {
            let hint = "leave out `format` for json";
            let status = StatusCode::NOT_IMPLEMENTED;
            return Err(refused(status, "format must be json or xml", hint));
        }
    };
    let (most_width, most_height) = (size("maxwidth")?, size("maxheight")?);
    let url = value("url").ok_or_else(|| wrong("give the address of a chart as url"))?;
    let (chart, asked) = own(&reader.places, url).ok_or_else(|| {
        let error =
            "url is not a chart of this atlas: it must begin with the atlas's address and /chart/";
        refused(StatusCode::NOT_FOUND, error, "/about lists all addresses")
    })?;
    let mut asked = asked?;
    let width = asked.look.width.min(most_width);
    let height = (asked.look.height + SOURCE).min(most_height);
    // Limits the picture to the height that its frame leaves.
    let picture = height.saturating_sub(SOURCE).max(*HEIGHTS.start());
    asked.look.height = picture;
    Ok(OembedRequest {
        chart,
        asked,
        width,
        height,
        xml,
    })
}

/// Answers in the asked format, as media type and text.
pub(super) fn write(
    reader: &Reader,
    wanted: &OembedRequest,
    figure: &Figure,
) -> (&'static str, String) {
    let OembedRequest {
        chart,
        asked,
        width,
        height,
        xml,
    } = wanted;
    let title = lasting(figure, asked);
    let (width, height) = (width.to_string(), height.to_string());
    let html = frame(reader, chart.name(), title, asked, &width, &height);
    let provider = match &*reader.places {
        Places::Server { base, .. } => base.as_str(),
        Places::Files { .. } => "",
    };
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
    if *xml {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<oembed>\n");
        for (name, value) in members {
            text.push_str(&format!("<{name}>{}</{name}>\n", escape(value)));
        }
        return ("text/xml; charset=utf-8", text + "</oembed>\n");
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
    (
        "application/json",
        serde_json::Value::Object(object).to_string(),
    )
}

/// Returns the chart that an address of this server names. `None`: another server's address, or no
/// chart.
fn own(places: &Places, url: &str) -> Option<(&'static dyn Chart, Result<ChartQuery, Error>)> {
    let Places::Server { base, .. } = places else {
        return None;
    };
    let rest = url.strip_prefix(base.as_str())?;
    let rest = rest.split('#').next()?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    match route::find(path)? {
        Route::Chart(chart, Shape::Page) | Route::Embed(chart) => {
            Some((chart, ChartQuery::read(query)))
        }
        Route::Community(key) => {
            let chart = crate::chart::find("community")?;
            let key = Some(route::key(key)?);
            let query = api::query::encode([("key", key)]);
            Some((chart, ChartQuery::read(&query)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::sample;

    fn ask(query: &str) -> Result<(&'static str, String), Refusal> {
        let reader = Reader::of_server("https://example.org/atlas");
        let wanted = read(&reader, query)?;
        let (_folder, store) = sample(&[]);
        let figure = wanted.chart.figure(&store, &wanted.asked)?;
        Ok(write(&reader, &wanted, &figure))
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
            let status_told = told.map_or_else(|refusal| refusal.status.as_u16(), |_| 200);
            assert_eq!(status_told, status, "{url}");
        }
        let url = "url=https://example.org/atlas/chart/growth";
        for (query, status) in [
            ("", 400),
            (&format!("{url}&format=yaml"), 501),
            (&format!("{url}&maxwidth=0"), 400),
            (&format!("{url}&maxheight=0"), 400),
            (&format!("{url}&maxwidth=wide"), 400),
        ] {
            let refusal = ask(query).expect_err("refused");
            assert_eq!(refusal.status, status, "{query}");
        }
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
        // A frame lower than any picture scrolls.
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
        // A picture lower than usual stays so.
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
