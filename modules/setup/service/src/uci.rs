//! `weir uci`: what OpenWrt's `uci` does, with the same words, output and exit codes.

mod commands;
mod options;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStringExt;

use clap::Args;

use commands::Session;
use options::Options;
use runtime::Error;
use runtime::output::Output;

/// Show and change OpenWrt's configuration files, as `uci` does
///
/// Same arguments, output and exit codes as OpenWrt's `uci`. Changes wait in /tmp/.uci until they
/// are committed. What a commit does not change stays as it was written, comments too.
#[derive(Args, Debug)]
#[command(after_help = "`weir uci help` lists commands and options.")]
pub struct UciArgs {
    /// Options, a command and its arguments, as `uci` takes them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    words: Vec<OsString>,
}

/// Does what the words say.
///
/// # Errors
/// [`Error::Code`] with the exit code of `uci`.
pub fn run(args: &UciArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let words = (args.words.iter().cloned())
        .map(OsStringExt::into_vec)
        .collect::<Vec<Vec<u8>>>();
    let stderr = io::stderr();
    let teach = stderr.is_terminal();
    let mut errors = stderr.lock();
    let code = answer(&words, &mut io::stdin(), output.raw(), &mut errors, teach)?;
    output.flush()?;
    match code {
        0 => Ok(()),
        code => Err(Error::Code(code)),
    }
}

/// Reads options, and does the command behind them. Gives the exit code.
fn answer(
    words: &[Vec<u8>],
    stdin: &mut dyn Read,
    out: &mut dyn Write,
    errors: &mut dyn Write,
    teach: bool,
) -> io::Result<u8> {
    let (options, rest) = match Options::read(words) {
        Ok(read) => read,
        Err(wrong) => {
            write!(errors, "{wrong}{USAGE}")?;
            return Ok(wrong.code);
        }
    };
    let mut file;
    let input: &mut dyn Read = match &options.file {
        None => stdin,
        Some(path) => match File::open(path) {
            Ok(open) => {
                file = open;
                &mut file
            }
            Err(error) => {
                writeln!(errors, "uci: {}: {error}", path.display())?;
                return Ok(1);
            }
        },
    };
    if rest.is_empty() {
        write!(errors, "{USAGE}")?;
        return Ok(0);
    }
    let mut session = Session::new(&options, input, out, errors, teach);
    let code = session.command(rest, false)?;
    if code == commands::USAGE {
        write!(errors, "{USAGE}")?;
    }
    Ok(code)
}

/// What is said to whoever gives no command, or one that there is not.
const USAGE: &str = "\
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

#[cfg(test)]
mod tests;
