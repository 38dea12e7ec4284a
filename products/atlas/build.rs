//! Puts the browser's files into the binary: those of `web/dist-atlas`, or empty ones if they were
//! not built, as the pages work without.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    let built = root.join("../../web/dist-atlas");
    // Cargo rebuilds on every run if a watched directory is missing. `make web` touches this file
    // instead.
    if built.is_dir() {
        println!("cargo::rerun-if-changed={}", built.display());
    }
    for name in ["weir-chart.js", "page.js", "atlas.css"] {
        let octets = fs::read(built.join(name)).unwrap_or_default();
        fs::write(out.join(name), octets)?;
    }
    Ok(())
}
