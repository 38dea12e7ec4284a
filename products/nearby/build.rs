//! Puts the page into the binary: the files of `web/dist-nearby`, or empty ones if they were not
//! built, in which case `/` shows a notice.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    let built = root.join("../../web/dist-nearby");
    // Cargo rebuilds on every run if a watched directory is missing. `make web` touches this file
    // instead.
    if built.is_dir() {
        println!("cargo::rerun-if-changed={}", built.display());
    }
    for name in ["index.html", "page.js", "page.css"] {
        let octets = fs::read(built.join(name)).unwrap_or_default();
        fs::write(out.join(name), octets)?;
    }
    // The profile strips programs, which is lost for a package with its own opt-level.
    if env::var("PROFILE").as_deref() == Ok("release") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
    Ok(())
}
