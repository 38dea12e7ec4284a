//! Puts the page into the binary: each file of `web/dist`, compressed here rather than at each
//! request. If the page was not built, the table is empty.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    let dist = root.join("../../web/dist");
    let mut files = Vec::new();
    // Cargo cannot wait for a missing directory: it would rebuild each time. `make web` touches
    // this file instead.
    if dist.join("index.html").is_file() {
        println!("cargo::rerun-if-changed={}", dist.display());
        collect(&dist, "", &mut files)?;
        files.sort();
    }
    let mut table = String::from("pub(super) static TABLE: &[Asset] = &[\n");
    for (number, name) in files.iter().enumerate() {
        let octets = fs::read(dist.join(name))?;
        let include = |variant: &str, octets: &[u8]| -> io::Result<String> {
            let file = out.join(format!("{number}.{variant}"));
            fs::write(&file, octets)?;
            Ok(format!("include_bytes!({file:?})"))
        };
        let mut hash = DefaultHasher::new();
        octets.hash(&mut hash);
        let (media, shrinks) = media_type(name);
        let content = match shrinks {
            true => format!(
                "Content::Packed {{ brotli: {}, gzip: {}, length: {} }}",
                include("br", &brotli(&octets)?)?,
                include("gz", &gzip(&octets)?)?,
                octets.len()
            ),
            false => format!("Content::Plain({})", include("plain", &octets)?),
        };
        writeln!(
            table,
            "    Asset {{ name: {name:?}, media: {media:?}, hashed: {}, tag: \"{:016x}\", \
                content: {content} }},",
            is_hashed(name),
            hash.finish()
        )
        .expect("writing to a string cannot fail");
    }
    table.push_str("];\n");
    fs::write(out.join("assets.rs"), table)
}

/// Collects names below `directory`, with slashes, without source maps and compressed files.
fn collect(directory: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if ![".map", ".br", ".gz"].iter().any(|end| name.ends_with(end)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the media type by the end of the name, and true if compression pays.
fn media_type(name: &str) -> (&'static str, bool) {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => ("text/html; charset=utf-8", true),
        "js" | "mjs" => ("text/javascript; charset=utf-8", true),
        "css" => ("text/css; charset=utf-8", true),
        "json" => ("application/json", true),
        "webmanifest" => ("application/manifest+json", true),
        "svg" => ("image/svg+xml", true),
        "txt" => ("text/plain; charset=utf-8", true),
        "ico" => ("image/x-icon", true),
        "png" => ("image/png", false),
        "webp" => ("image/webp", false),
        "woff2" => ("font/woff2", false),
        _ => ("application/octet-stream", true),
    }
}

/// Returns true if a name changes with the content: `index-BdK3_x9z.js`, `main.5f3a9c21.css`. Vite
/// and esbuild write 8 characters with at least one digit or capital; a plain word is not a hash.
fn is_hashed(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let Some((stem, _)) = name.rsplit_once('.') else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    // A hash may have a hyphen in it, so that only the last characters count.
    (8..=16).any(|length| {
        let Some(at) = stem.len().checked_sub(length) else {
            return false;
        };
        let Some((before, hash)) = stem.split_at_checked(at) else {
            return false;
        };
        before.ends_with(['-', '.'])
            && before.len() > 1
            && hash.chars().all(plain)
            && hash
                .chars()
                .any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
    })
}

fn brotli(octets: &[u8]) -> io::Result<Vec<u8>> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: octets.len(),
        ..Default::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*octets, &mut out, &parameters)?;
    Ok(out)
}

fn gzip(octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(octets)?;
    encoder.finish()
}
