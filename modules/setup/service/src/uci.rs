//! `weir uci`: the function of OpenWrt's `uci`, with the same arguments, output and exit codes.

mod commands;
mod options;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStringExt;

use clap::Args;

use commands::Session;
use options::{Options, USAGE};
use runtime::Error;
use runtime::output::Output;

/// Show and change OpenWrt's configuration files, as `uci` does
///
/// Takes the same arguments as OpenWrt's `uci`, with the same output and exit codes. Changes wait
/// in /tmp/.uci until they are committed. A commit leaves all other lines as they were, including
/// comments.
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

/// Executes the arguments.
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

#[cfg(test)]
mod tests;
