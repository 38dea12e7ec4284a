//! Commands of `uci`.

use std::io::{self, Read, Write};

use uci::{Address, Change, Error, OpenPackage, Store, Strictness, Verb};

use super::options::{self, Options};

/// Exit code of a malformed command line.
pub const USAGE: u8 = 255;
/// Words of a line in a batch.
const WORDS: usize = 4;

/// A run of `uci`.
pub struct Session<'a> {
    options: &'a Options,
    input: &'a mut dyn Read,
    out: &'a mut dyn Write,
    errors: &'a mut dyn Write,
    /// True if a person reads the errors, which then say more.
    teach: bool,
}

/// Cause that stopped a command.
enum Stop {
    /// An error, reported as by libuci.
    Uci(Error),
    /// A malformed path.
    Path(Error),
    /// A failure without a message.
    Silent,
    /// A malformed command line.
    Usage,
    /// The output is closed.
    Output(io::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Uci(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl<'a> Session<'a> {
    pub fn new(
        options: &'a Options,
        input: &'a mut dyn Read,
        out: &'a mut dyn Write,
        errors: &'a mut dyn Write,
        teach: bool,
    ) -> Self {
        Self {
            options,
            input,
            out,
            errors,
            teach,
        }
    }

    /// Executes a command, and returns its exit code.
    pub fn command(&mut self, words: &[Vec<u8>], batch: bool) -> io::Result<u8> {
        let Some((name, arguments)) = words.split_first() else {
            return Ok(USAGE);
        };
        let name = name.to_ascii_lowercase();
        if name == b"batch" && !batch {
            return self.batch();
        }
        let add = name == b"add";
        let result = match &*name {
            b"help" => {
                write!(self.errors, "{}", options::USAGE)?;
                Ok(())
            }
            b"add" => self.add(arguments),
            b"import" => self.import(arguments),
            b"show" | b"changes" | b"export" | b"commit" => self.packages(&name, arguments),
            b"get" | b"set" | b"ren" | b"rename" | b"revert" | b"reorder" | b"del" | b"delete"
            | b"add_list" | b"del_list" => self.section(&name, arguments),
            _ => Err(Stop::Usage),
        };
        let stop = match result {
            Ok(()) => return Ok(0),
            Err(stop) => stop,
        };
        let (number, error) = match stop {
            Stop::Output(error) => return Err(error),
            Stop::Usage => return Ok(USAGE),
            Stop::Silent => return Ok(1),
            Stop::Path(error) => (5, error),
            Stop::Uci(error) => (number(&error), error),
        };
        self.say(number, &error)?;
        Ok(if add { number } else { 1 })
    }

    /// Executes commands from the input, one per line; reports failures, and continues.
    fn batch(&mut self) -> io::Result<u8> {
        let text = match self.read() {
            Ok(text) => text,
            Err(error) => {
                self.say(number(&error), &error)?;
                return Ok(1);
            }
        };
        for line in uci::arguments(&text) {
            match line {
                Err(reason) => {
                    if !self.options.quiet {
                        let what = reason.libuci();
                        self.out.flush()?;
                        writeln!(self.errors, "uci: Parse error ({what})")?;
                    }
                }
                Ok(words) if words.is_empty() => {}
                Ok(words) if words.len() >= WORDS => self.complain("Too many arguments")?,
                Ok(words) if words[0].eq_ignore_ascii_case(b"exit") => break,
                Ok(words) => {
                    if self.command(&words, true)? == USAGE {
                        self.complain("Unknown command")?;
                    }
                }
            }
        }
        Ok(0)
    }

    /// Reads all of the input.
    fn read(&mut self) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        match self.input.read_to_end(&mut text) {
            Ok(_) => Ok(text),
            Err(error) => {
                let path = self.options.file.clone();
                let path = path.unwrap_or_else(|| "standard input".into());
                Err(Error::Io { path, error })
            }
        }
    }

    fn complain(&mut self, what: &str) -> io::Result<()> {
        if self.options.quiet {
            return Ok(());
        }
        self.out.flush()?;
        writeln!(self.errors, "{what}")
    }

    fn say(&mut self, number: u8, error: &Error) -> io::Result<()> {
        if self.options.quiet {
            return Ok(());
        }
        self.out.flush()?;
        let words = match number {
            2 => "Invalid argument",
            3 => "Entry not found",
            4 => "I/O error",
            5 => "Parse error",
            _ => "Duplicate entry",
        };
        write!(self.errors, "uci: {words}")?;
        if let Error::Syntax(at) = error {
            let what = at.reason.libuci();
            write!(
                self.errors,
                " ({what}) at line {}, byte {}",
                at.line, at.byte
            )?;
        }
        writeln!(self.errors)?;
        if self.teach {
            writeln!(
                self.errors,
                "  {}",
                runtime::output::sanitize(&error.to_string())
            )?;
        }
        Ok(())
    }

    fn store(&self) -> &'a Store {
        &self.options.store
    }

    fn open(&mut self, name: &str) -> Result<OpenPackage, Stop> {
        let opened = self.store().open(name)?;
        if self.store().strictness == Strictness::Lenient {
            for fault in opened.package.faults() {
                let what = fault.reason.libuci();
                let (line, byte) = (fault.line, fault.byte);
                writeln!(
                    self.errors,
                    "Parse error ({what}) at line {line}, byte {byte}"
                )?;
            }
        }
        Ok(opened)
    }

    fn add(&mut self, arguments: &[Vec<u8>]) -> Result<(), Stop> {
        let [package, kind] = arguments else {
            return Err(Stop::Usage);
        };
        let mut opened = self.open(&text(package))?;
        let name = self.store().add(&mut opened, &text(kind))?;
        Ok(writeln!(self.out, "{name}")?)
    }

    fn import(&mut self, arguments: &[Vec<u8>]) -> Result<(), Stop> {
        let name = match arguments {
            [] if self.options.merge => return Err(Stop::Usage),
            [] => None,
            [name] => Some(text(name)),
            _ => return Err(Stop::Usage),
        };
        let input = self.read()?;
        if let Some(name) = name.as_deref().filter(|_| self.options.merge)
            && let Ok(mut opened) = self.open(name)
        {
            let packages = uci::import(&input, Some(name), self.store().strictness)?;
            for package in packages {
                self.store().merge(&mut opened, &package)?;
            }
            return Ok(());
        }
        for package in uci::import(&input, name.as_deref(), self.store().strictness)? {
            self.store().replace(&package)?;
        }
        Ok(())
    }

    fn packages(&mut self, name: &[u8], arguments: &[Vec<u8>]) -> Result<(), Stop> {
        match arguments {
            [] => {
                for package in self.store().list()? {
                    if let Err(stop) = self.package(name, package.as_bytes()) {
                        let Stop::Uci(error) = stop else {
                            return Err(stop);
                        };
                        self.say(number(&error), &error)?;
                    }
                }
                Ok(())
            }
            [address] => self.package(name, address),
            _ => Err(Stop::Usage),
        }
    }

    fn package(&mut self, name: &[u8], address: &[u8]) -> Result<(), Stop> {
        let address = Address::read(address).map_err(Stop::Path)?;
        let opened = self.open(&address.package)?;
        let section = address.section_of(&opened.package)?;
        let text = match name {
            b"changes" => {
                let package = opened.package.name();
                opened
                    .changes
                    .iter()
                    .flat_map(|c| c.show(package))
                    .collect()
            }
            b"commit" if self.options.no_commit => Vec::new(),
            b"commit" => {
                self.store().commit(&address.package)?;
                Vec::new()
            }
            b"export" => uci::export(&opened.package, true, self.options.export),
            _ => {
                address.complete(&opened.package)?;
                let delimiter = &self.options.delimiter;
                let option = address.option.as_deref();
                let names = self.options.show;
                uci::shown(
                    &opened.package,
                    section.as_deref(),
                    option,
                    names,
                    delimiter,
                )
            }
        };
        Ok(self.out.write_all(&text)?)
    }

    fn section(&mut self, name: &[u8], arguments: &[Vec<u8>]) -> Result<(), Stop> {
        let [word] = arguments else {
            return Err(Stop::Usage);
        };
        let address = Address::read(word).map_err(Stop::Path)?;
        let mut opened = self.open(&address.package)?;
        let section = address.section_of(&opened.package)?;
        if address.value.is_some() && matches!(name, b"get" | b"revert") {
            return Err(Stop::Silent);
        }
        match name {
            b"get" => {
                address.complete(&opened.package)?;
                self.get(&address, section.as_deref(), &opened)
            }
            b"revert" => {
                let named = address.named(&opened.package)?;
                // A missing section has no changes.
                if named.is_none() && address.section.is_some() {
                    return Ok(());
                }
                let (section, option) = (named.as_deref(), address.option.as_deref());
                Ok(self.store().revert(&opened, section, option)?)
            }
            _ => self.change(name, &address, &mut opened),
        }
    }

    fn get(
        &mut self,
        address: &Address,
        section: Option<&str>,
        opened: &OpenPackage,
    ) -> Result<(), Stop> {
        let Some(section) = section.and_then(|name| opened.package.section(name)) else {
            return Ok(());
        };
        let mut line = match address.option.as_deref().and_then(|name| section.get(name)) {
            Some(element) => element.bare(&self.options.delimiter),
            None => section.kind.clone().into_bytes(),
        };
        line.push(b'\n');
        Ok(self.out.write_all(&line)?)
    }

    fn change(
        &mut self,
        name: &[u8],
        address: &Address,
        opened: &mut OpenPackage,
    ) -> Result<(), Stop> {
        let verb = match name {
            b"set" => Verb::Set,
            b"ren" | b"rename" => Verb::Rename,
            b"reorder" => Verb::Reorder,
            b"add_list" => Verb::AddList,
            b"del_list" => Verb::DelList,
            _ => Verb::Remove,
        };
        // `uci` fails here without a message.
        if verb == Verb::Remove && !address.value.as_deref().is_none_or(begins_a_number) {
            return Err(Stop::Silent);
        }
        match Change::from_command(verb, address, &opened.package)? {
            Some(change) => Ok(self.store().change(opened, &change)?),
            None => Ok(()),
        }
    }
}

/// Returns libuci's number of an error.
fn number(error: &Error) -> u8 {
    match error {
        Error::Invalid(_) => 2,
        Error::NotFound(_) => 3,
        Error::Io { .. } => 4,
        Error::Syntax(_) => 5,
        Error::Duplicate(_) => 6,
    }
}

fn begins_a_number(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let digits = text
        .strip_prefix(b"-")
        .or(text.strip_prefix(b"+"))
        .unwrap_or(text);
    // An empty text is an end for sscanf, not a mismatch.
    text.is_empty() || digits.first().is_some_and(u8::is_ascii_digit)
}

fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}
