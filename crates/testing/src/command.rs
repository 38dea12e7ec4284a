//! Output of a command, and golden files.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Returns a command with an empty environment.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Result of a command, as text.
pub struct Ran {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Converts a command's output to text.
///
/// # Panics
/// Panics if the output is not UTF-8.
pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Runs a test of this program, by its full name, in its own process, with extra variables.
///
/// # Panics
/// Panics if the test fails or does not exist.
pub fn apart(test: &str, variables: &[(&str, &OsStr)]) {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .expect("this program runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{test}: {said}"
    );
}

/// Compares with a golden file of the package: cargo runs tests in the package's folder. With
/// `WEIR_UPDATE_GOLDEN` set, writes the file instead.
///
/// # Panics
/// Panics if the texts differ or the file cannot be read.
pub fn golden(name: &str, text: &str) {
    let path = Path::new("tests/golden").join(name);
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
