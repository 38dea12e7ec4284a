//! Where the configuration comes from: a file, and the flags that override it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::parse::parse;
use super::settings::{Effective, Origin, Setting};

/// The file that is read when no other is named. It need not exist.
pub const DEFAULT_FILE: &str = "/etc/weir/weir.toml";

/// A configuration file longer than this is taken for something else.
const LONGEST: u64 = 1024 * 1024;

/// What a configuration is made from; asked again for each reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file that was named. `None`: [`DEFAULT_FILE`], where it exists.
    pub file: Option<PathBuf>,
    /// `--socket`.
    pub socket: Option<PathBuf>,
    /// `--shadow`.
    pub shadow: bool,
    /// `-v` less `-q`.
    pub louder: i32,
}

impl Source {
    /// Reads the file, and lays the flags over it.
    pub fn load(&self) -> Result<Effective, Vec<ConfigError>> {
        let mut effective = match &self.file {
            Some(file) => read(file).and_then(|text| parse(&text, &file.to_string_lossy()))?,
            None => match read(Path::new(DEFAULT_FILE)) {
                Ok(text) => parse(&text, DEFAULT_FILE)?,
                Err(_) if !Path::new(DEFAULT_FILE).exists() => Effective::default(),
                Err(errors) => return Err(errors),
            },
        };
        self.lay_over(&mut effective);
        Ok(effective)
    }

    fn lay_over(&self, effective: &mut Effective) {
        let origin = Origin::CommandLine;
        if self.shadow {
            effective.offload.shadow = Setting {
                value: true,
                origin: origin.clone(),
            };
        }
        if let Some(socket) = &self.socket {
            effective.api.socket = Setting {
                value: Some(socket.clone()),
                origin: origin.clone(),
            };
        }
        if self.louder != 0 {
            effective.log.level = Setting {
                value: effective.log.level.louder(self.louder),
                origin,
            };
        }
    }
}

fn read(file: &Path) -> Result<String, Vec<ConfigError>> {
    let mut octets = Vec::new();
    let wrong = |what: String, mend: &str| {
        let file = file.to_string_lossy().into_owned();
        vec![ConfigError {
            file,
            line: 0,
            column: 0,
            key: None,
            what,
            mend: mend.to_owned(),
        }]
    };
    File::open(file).and_then(|open| open.take(LONGEST + 1).read_to_end(&mut octets)).map_err(|error| {
        let mend = match error.kind() {
            io::ErrorKind::NotFound => "name a file that exists, or leave --config away to use what weir does by itself",
            io::ErrorKind::PermissionDenied => "run the command as root",
            _ => "name a file that can be read",
        };
        wrong(format!("cannot be read: {error}"), mend)
    })?;
    if octets.len() as u64 > LONGEST {
        return Err(wrong(
            "longer than 1 MiB".to_owned(),
            "name weir's configuration file",
        ));
    }
    String::from_utf8(octets).map_err(|_| wrong("not UTF-8 text".to_owned(), "save it as UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::super::settings::LogLevel;
    use super::*;

    #[test]
    fn flags_win_and_are_named() {
        let source = Source {
            socket: Some("/x".into()),
            shadow: true,
            louder: 1,
            file: None,
        };
        let mut effective =
            parse("offload.shadow = false\nlog.level = \"warn\"", "f").expect("good");
        source.lay_over(&mut effective);
        assert!(*effective.offload.shadow);
        assert_eq!(*effective.log.level, LogLevel::Info);
        assert_eq!(effective.api.socket.origin.to_string(), "command line");
        let mut untouched = Effective::default();
        Source::default().lay_over(&mut untouched);
        assert_eq!(untouched, Effective::default());
    }

    #[test]
    fn a_named_file_has_to_exist_and_be_text() {
        let named = |file: &Path| {
            Source {
                file: Some(file.to_owned()),
                ..Source::default()
            }
            .load()
        };
        let directory = std::env::temp_dir().join(format!("weir-config-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let file = directory.join("weir.toml");
        let errors = named(&file).expect_err("not there");
        assert!(
            errors[0].what.starts_with("cannot be read") && errors[0].line == 0,
            "{errors:?}"
        );
        std::fs::write(&file, [0xff, 0xfe]).expect("written");
        assert_eq!(
            named(&file).expect_err("not text")[0].what,
            "not UTF-8 text"
        );
        std::fs::write(&file, vec![b'#'; 2 * 1024 * 1024]).expect("written");
        assert_eq!(
            named(&file).expect_err("too long")[0].what,
            "longer than 1 MiB"
        );
        std::fs::write(&file, "offload.tcp = false").expect("written");
        assert!(!*named(&file).expect("good").offload.tcp);
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
