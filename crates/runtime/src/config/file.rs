//! Sources of the configuration: a file, and the flags that override it.

use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::effective::Effective;
use super::error::ConfigError;
use super::own::{Api, Log, SECTIONS};
use super::parse::{parse, parse_recoverable};
use super::section::Section;
use super::setting::{Origin, Setting};
use super::text::read;
use super::uci;

/// The file that is read when no other is named. It need not exist.
pub const DEFAULT_FILE: &str = "/etc/weir/weir.toml";

/// Sources of a configuration, read again at each reload.
#[derive(Clone)]
pub struct Source {
    /// All sections that can be configured.
    pub sections: Vec<Section>,
    /// The named file. `None`: [`DEFAULT_FILE`], if it exists.
    pub file: Option<PathBuf>,
    /// Values of flags by dotted key; a flag overrides the file.
    pub flags: Vec<(&'static str, Flag)>,
    /// `-v` less `-q`.
    pub louder: i32,
}

/// Value of a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `--shadow`
    Set,
    /// `--socket PATH`
    Text(String),
}

impl Source {
    /// Returns the file of the machine, if it exists, and no flags.
    pub fn of(sections: Vec<Section>) -> Self {
        Self {
            sections,
            file: None,
            flags: Vec::new(),
            louder: 0,
        }
    }

    /// Reads the file, and lays the flags over it.
    pub fn load(&self) -> Result<Effective, Vec<ConfigError>> {
        let mut effective = match &self.file {
            Some(file) => {
                read(file).and_then(|text| parse(&self.sections, &text, &file.to_string_lossy()))?
            }
            None => {
                let mut effective = match read(Path::new(DEFAULT_FILE)) {
                    Ok(text) => parse(&self.sections, &text, DEFAULT_FILE)?,
                    Err(_) if !Path::new(DEFAULT_FILE).exists() => {
                        Effective::defaults(&self.sections)
                    }
                    Err(errors) => return Err(errors),
                };
                uci::lay_over(&mut effective, Path::new(uci::UCI_FILE))?;
                effective
            }
        };
        self.lay_over(&mut effective)?;
        Ok(effective)
    }

    fn lay_over(&self, effective: &mut Effective) -> Result<(), Vec<ConfigError>> {
        for (key, flag) in &self.flags {
            let value = match flag {
                Flag::Set => DeValue::Boolean(true),
                Flag::Text(text) => DeValue::String(text.into()),
            };
            let origin = Origin::CommandLine;
            effective.lay_over(key, &value, &origin).map_err(|wrong| {
                vec![ConfigError {
                    file: Origin::CommandLine.to_string(),
                    line: 0,
                    column: 0,
                    key: Some((*key).to_owned()),
                    what: wrong.what,
                    hint: wrong.hint,
                }]
            })?;
        }
        if self.louder != 0 {
            let level = effective.of::<Log>().level.louder(self.louder);
            effective.of_mut::<Log>().level = Setting {
                value: level,
                origin: Origin::CommandLine,
            };
        }
        Ok(())
    }
}

/// The API's socket, if the file of the machine names one. Whatever else is in it, and whatever is
/// wrong with it.
pub fn configured_socket() -> Option<PathBuf> {
    let text = read(Path::new(DEFAULT_FILE)).ok()?;
    let (own, _) = parse_recoverable(&SECTIONS, &text, DEFAULT_FILE);
    own.of::<Api>().socket.value.clone()
}

#[cfg(test)]
mod tests {
    use super::super::own::LogLevel;
    use super::*;

    fn source() -> Source {
        Source::of(SECTIONS.to_vec())
    }

    #[test]
    fn flags_win_and_are_named() {
        let source = Source {
            flags: vec![("api.socket", Flag::Text("/x".into()))],
            louder: 1,
            ..source()
        };
        let text = "api.socket = \"/y\"\nlog.level = \"warn\"";
        let mut effective = parse(&SECTIONS, text, "f").expect("good");
        source.lay_over(&mut effective).expect("good");
        let socket = &effective.of::<Api>().socket;
        assert_eq!(socket.value.as_deref(), Some(Path::new("/x")));
        assert_eq!(socket.origin.to_string(), "command line");
        assert_eq!(*effective.of::<Log>().level, LogLevel::Info);
        let mut untouched = Effective::defaults(&SECTIONS);
        self::source().lay_over(&mut untouched).expect("nothing");
        assert_eq!(untouched, Effective::defaults(&SECTIONS));
        for (key, path) in [("api.socket", "here"), ("api.sockets", "/x")] {
            let source = Source {
                flags: vec![(key, Flag::Text(path.into()))],
                ..self::source()
            };
            let errors = source.lay_over(&mut untouched).expect_err("refused");
            let told = errors[0].to_string();
            assert!(
                told.starts_with(&format!("command line: {key}: ")),
                "{told}"
            );
        }
    }

    #[test]
    fn a_named_file_has_to_exist_and_be_text() {
        let named = |file: &Path| {
            Source {
                file: Some(file.to_owned()),
                ..source()
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
        std::fs::write(&file, "log.level = \"warn\"").expect("written");
        let read = named(&file).expect("good");
        assert_eq!(*read.of::<Log>().level, LogLevel::Warn);
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
