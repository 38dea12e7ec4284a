//! Text of a configuration file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::ConfigError;

/// A configuration file longer than this is taken for something else.
const LONGEST: u64 = 1024 * 1024;

/// Reads a file as UTF-8.
pub fn read(file: &Path) -> Result<String, Vec<ConfigError>> {
    let mut octets = Vec::new();
    let wrong = |what: String, hint: &str| {
        let file = file.to_string_lossy().into_owned();
        vec![ConfigError {
            file,
            line: 0,
            column: 0,
            key: None,
            what,
            hint: hint.to_owned(),
        }]
    };
    File::open(file)
        .and_then(|open| open.take(LONGEST + 1).read_to_end(&mut octets))
        .map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => {
                    "name an existing file by `--config FILE`; without `--config`, weir reads \
                        /etc/weir/weir.toml if it exists"
                }
                io::ErrorKind::PermissionDenied => "run the command as root",
                _ => "name a readable file",
            };
            wrong(format!("cannot be read: {error}"), hint)
        })?;
    if octets.len() as u64 > LONGEST {
        return Err(wrong(
            "longer than 1 MiB".to_owned(),
            "name weir's configuration file",
        ));
    }
    String::from_utf8(octets).map_err(|_| wrong("not UTF-8 text".to_owned(), "save it as UTF-8"))
}
