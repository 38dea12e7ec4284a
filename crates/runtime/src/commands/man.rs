//! `weir man`: the manual.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::Error;
use crate::config::{DEFAULT_FILE, KeyHelp, help};
use crate::output::sanitize;
use crate::registry::{Context, Registry};

/// Write the manual pages into a directory
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir man /usr/local/share/man")]
pub struct ManArgs {
    /// Directory; the pages are written into man1 and man5 below it
    directory: PathBuf,
}

pub fn run(args: &ManArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let written = write(&args.directory, context.registry).map_err(|error| {
        let what = format!("cannot write the manual to {}", args.directory.display());
        Error::with_cause(what, &error, "name a writable directory")
    })?;
    for page in written {
        context.output.line(&sanitize(&page.to_string_lossy()))?;
    }
    Ok(())
}

fn write(directory: &Path, registry: &Registry) -> std::io::Result<Vec<PathBuf>> {
    let (commands, files) = (directory.join("man1"), directory.join("man5"));
    fs::create_dir_all(&files)?;
    let mut pages = cli::manual::write(registry.tree(), &registry.groups(), &commands)?;
    let file = files.join("weir.toml.5");
    fs::write(&file, configuration_page(&help(&registry.sections())))?;
    pages.push(file);
    pages.sort();
    Ok(pages)
}

/// weir.toml(5), in the language of man(7).
fn configuration_page(keys: &[KeyHelp]) -> String {
    let mut page = format!(
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH weir.toml 5 \"\" \"weir {}\"\n.SH \
            NAME\nweir.toml \\- configuration of weir\n\
         .SH DESCRIPTION\n{}\n.P\n{}\n.P\n{}\n",
        env!("CARGO_PKG_VERSION"),
        roff(&format!(
            "{DEFAULT_FILE} is optional: all keys have defaults. The file is written in TOML \
                (https://toml.io)."
        )),
        roff(
            "An unknown key or an invalid value is an error. All errors of a file are reported at \
                once, with their lines."
        ),
        roff(
            "`weir config` prints the effective configuration. `weir reload` or SIGHUP reloads it."
        ),
    );
    let mut section = "";
    for key in keys {
        if key.section != section {
            section = &key.section;
            page.push_str(&format!(".SH \"[{}]\"\n", roff(section)));
        }
        let line = format!("{} = {}", key.name, key.default);
        page.push_str(&format!(
            ".TP\n\\fB{}\\fR\n{}\nWrite {}.\n",
            roff(&line),
            roff(key.about),
            roff(&key.allowed)
        ));
    }
    page.push_str(&format!(
        ".SH EXAMPLE\n.nf\n{}\n.fi\n.SH \"SEE ALSO\"\n\\fBweir\\fR(1), \\fBweir\\-config\\fR(1)\n",
        roff("[offload]\nopt_out_mark = \"0x10/0xf0\"\n\n[ports.wan0]\nhook = \"tc\"")
    ));
    page
}

/// Text that roff takes for text.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text.lines().map(|line| match line.chars().next() {
        Some('.' | '\'') => format!("\\&{line}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_taken_for_requests() {
        assert_eq!(roff(".so\n'x\na-b\\c"), "\\&.so\n\\&'x\na\\-b\\ec");
    }
}
