//! Files that are not directories: lists of nodes, a community's own file, an error from a server.
//! Each would count as a snapshot without nodes, and as a fall that did not happen.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::entry::Draft;
use super::mapping::{Format, Mapping};

/// Number of entries up to which a file is checked closely: other files have few members.
const FEW: usize = 20;
/// Bytes of a node that are parsed to recognise a node.
const NODE: usize = 64 << 10;

const NOTHING: &str = "this is not a directory: no entry has a number of nodes; describe another \
                       format by --mapping";

type Members<'a> = HashMap<String, &'a RawValue>;

/// Returns the entries of a directory: one of them at least has a number of nodes. If the file is
/// not a directory, the error describes the file.
pub(super) fn directory(
    octets: &[u8],
    drafts: Vec<Draft>,
    mapping: &Mapping,
) -> Result<Vec<Draft>, String> {
    let known = drafts.iter().any(|draft| draft.nodes.is_some());
    if let Format::Csv(_) = mapping.format {
        return match known || drafts.is_empty() {
            true => Ok(drafts),
            false => Err(NOTHING.to_owned()),
        };
    }
    // A mapping with a path to the entries overrules a guess.
    let certain = known && (drafts.len() > FEW || !mapping.entries.is_empty());
    if certain {
        return Ok(drafts);
    }
    let text = octets.strip_prefix(b"\xef\xbb\xbf").unwrap_or(octets);
    let members = serde_json::from_slice::<Members<'_>>(text);
    match members.ok().and_then(|members| named(&members, known)) {
        Some(what) => Err(what),
        None if known || is_empty(text) => Ok(drafts),
        None => Err(NOTHING.to_owned()),
    }
}

/// Recognises the keys by which servers name their errors.
fn is_of_error(key: &str) -> bool {
    let words = ["error", "errors", "exception", "fault", "message", "detail"];
    words.iter().any(|word| key.eq_ignore_ascii_case(word))
}

/// Returns true for `{}` and `[]`, which have their own remark.
fn is_empty(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let inner = text.strip_prefix(b"{").and_then(|it| it.strip_suffix(b"}"));
    let inner = inner.or_else(|| text.strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]")));
    inner.is_some_and(|inner| inner.trim_ascii().is_empty())
}

/// Names the kind of a file by its members; `known`: some of them have a number of nodes.
fn named(members: &Members<'_>, known: bool) -> Option<String> {
    if let Some(kind) = nodes(members, known) {
        return Some(format!(
            "this is a list of nodes ({kind}), not a directory; import the directory that has the \
             communities' sums"
        ));
    }
    let is = |name: &str, first: char| {
        members
            .get(name)
            .is_some_and(|raw| raw.get().starts_with(first))
    };
    let what = if members.contains_key("batadv") || (is("links", '[') && is("nodes", '[')) {
        "this is a graph of links, not a directory; import the directory that has the communities' \
         sums"
    } else if is("type", '"') && is("features", '[') {
        "this is a map (GeoJSON), not a directory; import the directory that has the communities' sums"
    } else if is("name", '"') && (is("api", '"') || is("state", '{') || is("location", '{')) {
        "this is the file of one community, not a directory; import the directory that lists the \
         community"
    } else if !known && members.keys().any(|key| is_of_error(key)) {
        "this is an error message, not a directory; fetch the file again"
    } else {
        return None;
    };
    Some(what.to_owned())
}

/// Returns the kind of a list of nodes.
fn nodes(members: &Members<'_>, known: bool) -> Option<&'static str> {
    // Files of alfred and respondd: a member for each node, without a container.
    let one = members.values().next().filter(|_| !known);
    let one = one.and_then(|raw| first(raw.get()));
    if one.is_some_and(|one| one.contains_key("node_id") || one.contains_key("nodeinfo")) {
        return Some("alfred or respondd");
    }
    let raw = members.get("nodes")?.get();
    let version = members
        .get("version")
        .map(|raw| raw.get().trim_matches('"'));
    let map = raw.starts_with('{');
    if !map && !raw.starts_with('[') {
        return None;
    }
    let node = first_of(raw, map);
    let has = |name: &str| node.as_ref().is_some_and(|node| node.contains_key(name));
    if has("nodeinfo") || has("statistics") {
        return Some(match map || version == Some("1") {
            true => "nodes.json, version 1",
            false => "nodes.json, version 2",
        });
    }
    let meshviewer = has("is_online") || has("node_id") || has("hostname");
    if meshviewer || (has("id") && has("status")) {
        return Some(match meshviewer {
            true => "meshviewer",
            false => "nodelist.json",
        });
    }
    // Without a node in it.
    let around = members.contains_key("timestamp") || members.contains_key("updated_at");
    match (around, version, members.contains_key("links")) {
        (true, _, true) => Some("meshviewer"),
        (true, Some("2"), _) => Some("nodes.json, version 2"),
        (true, Some("1"), _) => Some("nodes.json, version 1"),
        (true, ..) => Some("nodes.json"),
        _ => None,
    }
}

/// Returns the members of an object.
fn first(raw: &str) -> Option<Members<'_>> {
    (raw.starts_with('{') && raw.len() <= NODE)
        .then(|| serde_json::from_str(raw).ok())
        .flatten()
}

/// Returns the members of the first node in a list, or in an object by id.
fn first_of(raw: &str, map: bool) -> Option<Members<'_>> {
    let node: Option<&RawValue> = match map {
        true => serde_json::from_str::<Members<'_>>(raw)
            .ok()?
            .into_values()
            .next(),
        false => serde_json::from_str::<Vec<&RawValue>>(raw)
            .ok()?
            .into_iter()
            .next(),
    };
    first(node?.get())
}

#[cfg(test)]
mod tests {
    use crate::read::{Mapping, snapshot};

    const NAME: &str = "20240425-12.00.00-ffSummarizedDir.json";

    /// Returns the only line of the ledger for a file that is left out.
    fn told(text: &str) -> String {
        let freifunk = Mapping::named("freifunk").expect("built in");
        let snapshot = snapshot(NAME, text.as_bytes(), &freifunk);
        assert_eq!(snapshot.entries, [], "{text}");
        let [remark] = snapshot.remarks.as_slice() else {
            panic!("{text}: {:?}", snapshot.remarks);
        };
        assert_eq!(remark.key, None, "{text}");
        assert_eq!(remark.read_as, "the whole file is left out", "{text}");
        remark.what.clone()
    }

    #[test]
    fn what_is_no_directory_is_named() {
        for (text, what) in [
            (
                r#"{"timestamp":"2024-04-25T12:00:00","version":1,"nodes":{"abcd":{"firstseen":"2024-01-01T00:00:00","flags":{"online":true},"statistics":{"clients":3},"nodeinfo":{"hostname":"n1"}}}}"#,
                "this is a list of nodes (nodes.json, version 1), not a directory",
            ),
            (
                r#"{"timestamp":"2024-04-25T12:00:00Z","version":2,"nodes":[{"flags":{"online":true},"statistics":{"clients":3},"nodeinfo":{"hostname":"n1"}}]}"#,
                "this is a list of nodes (nodes.json, version 2), not a directory",
            ),
            (
                r#"{"timestamp":"2024-04-25T12:00:00+0200","nodes":[{"hostname":"n1","node_id":"abcd","is_online":true}],"links":[]}"#,
                "this is a list of nodes (meshviewer), not a directory",
            ),
            (
                r#"{"version":"1.0.1","updated_at":"2024-04-25T12:00:00","nodes":[{"id":"a","name":"n1","status":{"online":true}}]}"#,
                "this is a list of nodes (nodelist.json), not a directory",
            ),
            (
                r#"{"timestamp":"2024-04-25T12:00:00Z","version":2,"nodes":[]}"#,
                "this is a list of nodes (nodes.json, version 2), not a directory",
            ),
            (
                r#"{"02:00:00:00:00:01":{"hostname":"n1","node_id":"020000000001"}}"#,
                "this is a list of nodes (alfred or respondd), not a directory",
            ),
            (
                r#"{"version":1,"batadv":{"nodes":[],"links":[]}}"#,
                "this is a graph of links, not a directory",
            ),
            (
                r#"{"type":"FeatureCollection","features":[]}"#,
                "this is a map (GeoJSON), not a directory",
            ),
            (
                r#"{"api":"0.5.2","name":"Freifunk Aachen","mtime":"2024-03-10 12:00:00","state":{"nodes":10,"lastchange":"2024-03-10T11:00:00.000Z"},"location":{"city":"Aachen","geoCode":{"lat":50.7,"lon":6.1}}}"#,
                "this is the file of one community, not a directory",
            ),
        ] {
            let told = told(text);
            assert!(told.starts_with(what), "{text}: {told}");
        }
    }

    #[test]
    fn what_a_server_says_in_place_of_a_directory_is_no_snapshot() {
        for text in [
            r#"{"error":{"code":502,"message":"Bad Gateway"}}"#,
            r#"{"error":{"name":"NotFoundError","status":404}}"#,
            r#"{"error":"Bad Gateway"}"#,
            r#"{"errors":[{"code":1}]}"#,
            r#"{"type":"about:blank","title":"Not Found","status":404,"detail":"no file"}"#,
            r#"{"message":"Not Found","documentation_url":"https://example.org"}"#,
            r#"{"errors":[{"status":"404","title":"x"}],"meta":{"name":"api"},"links":{"self":"x"}}"#,
            r#"{"status":{"code":503,"name":"x"},"error":{"name":"upstream"}}"#,
        ] {
            assert!(told(text).starts_with("this is an error message"), "{text}");
        }
        for text in [
            r#"{"status":"ok","result":{}}"#,
            r#"{"a":{},"b":{"routing":"olsr"}}"#,
            "[1,2,3]",
            "[{\"code\":502}]",
            "{\"a\":null}",
            "\u{feff}{\"a\":7}",
            r#"{"status":{"code":503,"name":"Service Unavailable"}}"#,
            r#"{"kind":"Status","details":{"name":"directory","kind":"services"},"code":404}"#,
            r#"{"maintenance":{"name":"Wartung","until":"2024-04-02"}}"#,
            r#"{"result":{"nodes":[],"name":"x"}}"#,
            r#"{"file":{"name":"x","mtime":"2024-04-25 11:00:00"}}"#,
            r#"{"model":{"name":"x"},"place":{"location":{"lat":50,"lon":11}}}"#,
            r#"{"a":{"name":"A","state":{"nodes":"many"}}}"#,
        ] {
            let told = told(text);
            assert!(
                told.starts_with("this is not a directory"),
                "{text}: {told}"
            );
        }
    }

    #[test]
    fn a_directory_stays_one() {
        let freifunk = Mapping::named("freifunk").expect("built in");
        for text in [
            r#"{"a":{"state":{"nodes":0}}}"#,
            r#"{"a":{"state":{"nodes":"3"}},"b":{"name":"B"}}"#,
            r#"{"error":{"name":"Error e.V.","state":{"nodes":3}}}"#,
            r#"{"nodes":{"name":"Nodes"},"links":{"state":{"nodes":3}},"name":{"name":"N"}}"#,
            r#"{"error":{"code":502},"a":{"name":"A","state":{"nodes":3}}}"#,
        ] {
            let snapshot = snapshot(NAME, text.as_bytes(), &freifunk);
            assert!(!snapshot.entries.is_empty(), "{text}: {snapshot:?}");
        }
    }
}
