//! Options before the command, as `getopt` reads them.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use uci::{NameStyle, Store, Strictness};

/// Options before the command.
pub struct Options {
    pub store: Store,
    pub delimiter: Vec<u8>,
    pub file: Option<PathBuf>,
    pub merge: bool,
    pub no_commit: bool,
    pub quiet: bool,
    pub export: NameStyle,
    pub show: NameStyle,
}

/// An option that is not valid.
pub struct InvalidOption {
    what: String,
    /// Exit code. `uci` has 0 for an option that it does not know, and scripts go on.
    pub code: u8,
}

impl fmt::Display for InvalidOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "uci: {}", self.what)
    }
}

impl Options {
    /// Reads options up to the first other word, and returns the words from there.
    pub fn read(words: &[Vec<u8>]) -> Result<(Options, &[Vec<u8>]), InvalidOption> {
        let mut options = Options {
            store: Store::default(),
            delimiter: b" ".to_vec(),
            file: None,
            merge: false,
            no_commit: false,
            quiet: false,
            export: NameStyle::Extended,
            show: NameStyle::Extended,
        };
        let mut rest = words;
        while let [word, after @ ..] = rest {
            let Some(letters) = word.strip_prefix(b"-").filter(|l| !l.is_empty()) else {
                break;
            };
            rest = after;
            if letters == b"-" {
                break;
            }
            for (n, &letter) in letters.iter().enumerate() {
                if !b"cCdfpPt".contains(&letter) {
                    options.switch(letter)?;
                    continue;
                }
                let value = match (&letters[n + 1..], rest) {
                    ([], [value, after @ ..]) => {
                        rest = after;
                        value.clone()
                    }
                    ([], []) => return Err(wrong("option requires an argument", letter)),
                    (value, _) => value.to_vec(),
                };
                options.take(letter, value)?;
                break;
            }
        }
        Ok((options, rest))
    }

    fn switch(&mut self, letter: u8) -> Result<(), InvalidOption> {
        match letter {
            // Formerly loaded plug-ins; scripts still give it.
            b'L' => {}
            b'm' => self.merge = true,
            b'n' => self.export = NameStyle::Generated,
            b'N' => self.export = NameStyle::Extended,
            b'q' => self.quiet = true,
            b's' => self.store.strictness = Strictness::Strict,
            b'S' => self.store.strictness = Strictness::Lenient,
            b'X' => self.show = NameStyle::Generated,
            _ => return Err(wrong("unrecognized option", letter)),
        }
        Ok(())
    }

    fn take(&mut self, letter: u8, value: Vec<u8>) -> Result<(), InvalidOption> {
        if letter == b'd' {
            self.delimiter = value;
            return Ok(());
        }
        let path = PathBuf::from(OsString::from_vec(value));
        match letter {
            b'c' => self.store.set_config(path),
            b'C' => self.store.set_overrides(path),
            b'f' if self.file.is_some() => {
                let what = "Too many input files.".to_owned();
                return Err(InvalidOption { what, code: 1 });
            }
            b'f' => self.file = Some(path),
            // A folder that is read already is read once.
            b'p' => {
                let _ = self.store.add_changes(path);
            }
            b'P' => {
                self.store.set_changes(path);
                self.no_commit = true;
            }
            _ => self.store.set_changes(path),
        }
        Ok(())
    }
}

fn wrong(what: &str, letter: u8) -> InvalidOption {
    InvalidOption {
        what: format!("{what}: {}", letter.escape_ascii()),
        code: 1,
    }
}

/// Help for a missing or unknown command.
pub const USAGE: &str = "\
Usage: uci [OPTIONS] COMMAND [ARGUMENTS]

Commands:
  show       [PACKAGE[.SECTION[.OPTION]]]    all, one to a line
  get        PACKAGE.SECTION[.OPTION]        a value; of a section its type
  set        PACKAGE.SECTION[.OPTION]=VALUE
  add        PACKAGE TYPE                    a section without a name
  add_list   PACKAGE.SECTION.OPTION=VALUE
  del_list   PACKAGE.SECTION.OPTION=VALUE
  delete     PACKAGE.SECTION[.OPTION[=NUMBER]]
  rename     PACKAGE.SECTION[.OPTION]=NAME
  reorder    PACKAGE.SECTION=PLACE
  changes    [PACKAGE]                       what is not committed
  commit     [PACKAGE]
  revert     PACKAGE[.SECTION[.OPTION]]      forget changes
  export     [PACKAGE]
  import     [PACKAGE]                       from standard input
  batch                                      commands from standard input

A section is a name or @TYPE[NUMBER]; numbers below 0 count from the end.

Options:
  -c DIR   configuration in DIR (default: /etc/config)
  -C DIR   a file in DIR overrides that of its name (default: /var/run/uci)
  -d TEXT  put TEXT between the elements of a list
  -f FILE  read FILE instead of standard input
  -m       import: add to the package
  -n, -N   export: with names for sections that have none, or without (default)
  -p DIR   changes in DIR count, too
  -P DIR   changes go to DIR, and are not committed
  -t DIR   changes go to DIR
  -q       no errors on standard error
  -s, -S   lines that cannot be read are errors (default), or left out
  -X       show: sections without a name by the name made up for them
";
