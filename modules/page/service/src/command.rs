//! `weir passwd`: the password of the web page.

mod prompt;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use answers::PageClaim;
use clap::Args;
use web::password::{self, Cost, Weakness};

use runtime::Error;
use runtime::command::{Connection, client};
use runtime::output::{Output, sanitize};

/// Path of the code for the first password.
pub const CLAIM: &str = "/v1/page/claim";

/// Set the password of the web page
///
/// Asks for the password twice without showing it. Only a hash (argon2id) is stored, in a file with
/// mode 0600. Takes effect at once: logged-in users must log in again.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir passwd
  weir passwd --claim     for the first visit, from a browser in the LAN
  pwgen -s 16 1 | tee /dev/tty | weir passwd --stdin")]
pub struct PasswdArgs {
    /// Read the password from the first line of standard input
    #[arg(long)]
    stdin: bool,
    /// Print the code that lets any device that reaches the page set the first password
    #[arg(long, conflicts_with_all = ["stdin", "file"])]
    claim: bool,
    /// File of the password hash
    #[arg(long, value_name = "FILE", default_value = web::DEFAULT_PASSWORD_FILE)]
    file: PathBuf,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &PasswdArgs, output: &mut Output<'_>) -> Result<(), Error> {
    if args.claim {
        let claim: PageClaim = client(&args.connection)?.get(CLAIM)?;
        return Ok(output.line(&claim.code)?);
    }
    let password = if args.stdin {
        first_line(io::stdin().lock())?
    } else {
        twice()?
    };
    password::check(&password).map_err(weak)?;
    let file = web::password_file(&args.file);
    password::move_former(file).map_err(|error| {
        let hint = "run it as root";
        Error::with_cause("cannot move the former password", &error, hint)
    })?;
    password::hash(&password, Cost::default())
        .map_err(|error| Error::new(error.to_string(), error.hint()))
        .and_then(|hash| {
            password::write(file, &hash).map_err(|error| {
                let hint = error.hint();
                Error::with_cause("cannot set the password", &error, hint)
            })
        })?;
    let text = format!("the password is set, in {}", file.display());
    Ok(output.line(&sanitize(&text))?)
}

fn weak(weakness: Weakness) -> Error {
    let hint = "nothing was changed; use a longer password: several unrelated words";
    Error::new(weakness.to_string(), hint)
}

/// Returns the first line, without its end. Reads no more than a password may have, plus two bytes
/// for the end of the line.
fn first_line(input: impl BufRead) -> Result<String, Error> {
    let mut line = Vec::new();
    let most = u64::try_from(password::LONGEST).unwrap_or(u64::MAX) + 2;
    input
        .take(most)
        .read_until(b'\n', &mut line)
        .map_err(|error| {
            Error::with_cause(
                "cannot read standard input",
                &error,
                "give the password as one line of text",
            )
        })?;
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    text(line)
}

fn text(octets: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(octets).map_err(|_| {
        Error::new(
            "the password is not valid UTF-8",
            "nothing was changed; check the character set of the terminal (`locale`)",
        )
    })
}

/// Asks on the terminal; both answers must agree.
fn twice() -> Result<String, Error> {
    if !io::stdin().is_terminal() {
        return Err(Error::usage(
            "standard input is not a terminal",
            "use --stdin, or run this on a terminal",
        ));
    }
    let first = prompt("New password: ")?;
    // Rejects a weak password before asking for it again.
    password::check(&first).map_err(weak)?;
    if prompt("The same again: ")? != first {
        return Err(Error::new(
            "the two passwords differ",
            "nothing was changed; try again",
        ));
    }
    Ok(first)
}

fn prompt(prompt: &str) -> Result<String, Error> {
    let mut terminal = io::stderr();
    let asked = write!(terminal, "{prompt}").and_then(|()| terminal.flush());
    let answer =
        asked.and_then(|()| prompt::hidden(&io::stdin(), io::stdin().lock(), password::LONGEST));
    // The user's Enter was not shown either.
    let _ = writeln!(terminal);
    let answer = answer.map_err(|error| {
        Error::with_cause("cannot ask for the password", &error, "use --stdin instead")
    })?;
    match answer {
        Some(octets) => text(octets),
        None => Err(Error::new("missing password", "nothing was changed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_read() {
        for (input, password) in [
            (&b"secret words\n"[..], "secret words"),
            (b"secret words", "secret words"),
            (b"secret words\r\nmore\n", "secret words"),
            (b" secret \n", " secret "),
            (b"", ""),
        ] {
            assert_eq!(first_line(input).expect("text"), password);
        }
        assert!(first_line(&b"\xff\xfe\n"[..]).is_err());
        let endless = io::BufReader::new(io::repeat(b'x'));
        let read = first_line(endless).expect("text");
        assert_eq!(password::check(&read), Err(Weakness::Long));
    }
}
