//! What comes of a command, and what it is compared with. Included by the tests of several crates.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A command, in an environment that says nothing.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// What came out, as text.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Compares with a file of `tests/golden`; with `WEIR_UPDATE_GOLDEN` set, writes it instead.
pub fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("written");
        return;
    }
    let expected =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        text == expected,
        "{} differs; it is now:\n{text}",
        path.display()
    );
}
